// Who runs the cases of `coda check`.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "coda/core/error.h"
#include "coda/tools/check.h"
#include "coda/tools/check_case.h"

namespace coda::tools {

struct CheckRun {
  const catalogue::Variant& variant;
  const catalogue::Call& call;
  std::span<const std::span<std::byte>> memory;  // all that the call's tensors lie in
  size_t configuration;
  int repetition;
  uint64_t number;  // of the case
};

// Thrown by a backend that finds a mistake while it runs; any other coda::Error is a refusal.
class RunFailure : public Error {
 public:
  using Error::Error;
};

struct CheckBackend {
  // Each must give right results, bits may differ between them; as flags of `coda check`.
  std::vector<std::string> configurations;
  // Repetitions of a configuration must agree in every bit; whatever may not matter changes from
  // one to the next.
  std::function<int(const CheckRun& run)> repetitions = [](const CheckRun&) { return 3; };
  // Returns what was special about this repetition.
  std::function<std::string(const CheckRun& run)> run;

  // How it adds up a GEMM's products, and so how the unfused computation does that its errors are
  // compared with.
  reference::Accumulation accumulation = reference::Accumulation::kFp32;

  CaseRules rules = {};
  std::function<bool(const catalogue::Variant& variant)> has = {};  // none: all variants
  // Whether the same computation gives a NaN the same bits. Those of the host's floats, which the
  // simulator computes with, depend on the order that a compiler gives the operands.
  bool defines_nans = true;
  int threads = 1;  // that check cases at the same time
  // Calls that it must turn down with an error, outputs untouched; none: it takes all.
  std::function<bool(const CheckRun& run)> refuses = {};
};

// Throws coda::Error where there is no such backend.
CheckBackend make_backend(const CheckOptions& options);

}  // namespace coda::tools
