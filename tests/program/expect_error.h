// A call that must throw coda::Error, with everything its message has to say.
#pragma once
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "coda/core/error.h"

namespace coda {

template <class F>
void expect_error(F&& call, std::initializer_list<std::string> texts) {
  try {
    call();
    ADD_FAILURE() << "no error; expected one with: " << *texts.begin();
  } catch (const Error& error) {
    for (const std::string& text : texts) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos)
          << "'" << error.what() << "' does not say: " << text;
    }
  }
}

}  // namespace coda
