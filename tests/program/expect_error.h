// Calls that must throw coda::Error.
#pragma once
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "coda/core/error.h"

namespace coda {

template <class F>
std::string message_of(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

// texts: everything the message has to say.
template <class F>
void expect_error(F&& call, std::initializer_list<std::string> texts) {
  const std::string message = message_of(call);
  for (const std::string& text : texts) {
    EXPECT_NE(message.find(text), std::string::npos)
        << "'" << message << "' does not say: " << text;
  }
}

}  // namespace coda
