// The exception type: says which operation and argument, what was expected, what came, and the
// remedy. Host only.
#pragma once
#include <stdexcept>
#include <string>

namespace coda {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The GPU, its driver, or what a build has for it; the arguments are not to blame.
class DeviceError : public Error {
 public:
  using Error::Error;
};

// "<operation>: argument '<argument>': expected <expected>, got <got>"
[[noreturn]] void fail_argument(const std::string& operation, const std::string& argument,
                                const std::string& expected, const std::string& got);

}  // namespace coda
