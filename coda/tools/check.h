// `coda check`: runs operations on random cases and compares them with their fp64 formulas. Tests
// use it too. Every failure is one line that begins with the command which repeats it.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coda/catalogue/operation.h"

namespace coda::tools {

struct CheckBackend;  // check_backend.h

struct CheckOptions {
  std::string backend = "cpu";
  int cases = 50;  // of every operation, dealt to its variants
  uint64_t seed = 1;
  std::vector<cpu::Isa> isas = {};         // none: all that are available
  std::string variant = {};                // none: all
  std::optional<uint64_t> only_case = {};  // the number that a failure named
  std::optional<int> slices = {};          // of the contraction (sim, cuda); none: several numbers
  // Of the simulator:
  int seeds = 5;                      // schedules of every case
  std::optional<size_t> kernel = {};  // only this one of a variant's manifest; none: those that fit
};

struct CheckResult {
  int passed = 0, failed = 0;  // cases
  std::vector<std::string> failures;
};

struct CheckProgress {
  const catalogue::Operation* operation;
  int done, cases;  // of all operations
  int failed;
};

// Throws coda::Error for a backend, variant or instruction set that there is not.
CheckResult check(std::span<const catalogue::Operation* const> operations,
                  const CheckOptions& options,
                  const std::function<void(const CheckProgress&)>& progress = {});

// With a backend of one's own.
CheckResult check(std::span<const catalogue::Operation* const> operations,
                  const CheckOptions& options, const CheckBackend& backend,
                  const std::function<void(const CheckProgress&)>& progress = {});

}  // namespace coda::tools
