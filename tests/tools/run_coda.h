// The coda command as somebody types it.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "coda/tools/command_line.h"

namespace coda::tools {

struct Outcome {
  int status;
  std::string out, err;
};

inline Outcome coda(const std::vector<std::string>& arguments) {
  std::vector<const char*> words = {"coda"};
  for (const std::string& argument : arguments) words.push_back(argument.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = run_command_line(static_cast<int>(words.size()), words.data());
  return {status, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// One line on stderr that holds the parts, nothing on stdout.
inline void expect_bad_use(const std::vector<std::string>& arguments,
                           const std::vector<std::string>& parts) {
  const Outcome outcome = coda(arguments);
  EXPECT_EQ(outcome.status, kBadUse) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  for (const std::string& part : parts) EXPECT_TRUE(contains(outcome.err, part)) << outcome.err;
}

}  // namespace coda::tools
