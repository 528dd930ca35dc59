// Measured choices among a program's kernels, taken instead of predicted ones: what `coda tune`
// found out, for one GPU, program, majors and shape each. Host only; docs/tuning.md.
#pragma once
#include <map>
#include <string>
#include <string_view>

#include "coda/plan/predict.h"

namespace coda::plan {

// What a measurement holds for, as the fields of a cache line: the GPU's name and multiprocessors,
// the library's version, the program (operand, the ports that it has and their types), the majors
// of A and B, and the shape, N of one accumulator.
std::string tuning_key(const Device& device, const ProgramView& program, DType operand,
                       kernel::OperandMajor a, kernel::OperandMajor b, int64_t M, int64_t N,
                       int64_t K);

// Configuration names by key.
class TuningCache {
 public:
  // Of a file's text. Lines that are no entries are left out, and so is a last line without its
  // end; all of them where the first line is not that of this format.
  static TuningCache parse(std::string_view text);
  static bool has_format(std::string_view text);

  std::string text() const;

  const std::string* find(const std::string& key) const;  // null: not measured
  void set(const std::string& key, const std::string& config);
  void merge(const TuningCache& newer);
  size_t size() const { return entries_.size(); }

 private:
  std::map<std::string, std::string> entries_;
};

// From now on, for every thread, and instead of what the environment names. Launches that are under
// way may still go by the one before.
void use_tuning(TuningCache cache);

// The one in use, null where there is none. The first call loads the file that the environment
// variable CODA_TUNING_CACHE names; later ones read nothing but a pointer.
const TuningCache* tuning_in_use();

// The kernel that was measured to be fastest; null where nothing was, where the entry names none of
// these kernels, or one that does not fit, and where an operand is cut: then the prediction holds.
const KernelEntry* tuned_kernel(const TuningCache& cache, std::span<const KernelEntry> kernels,
                                const ProgramView& program, const LaunchRequest& request,
                                const Device& device);

}  // namespace coda::plan
