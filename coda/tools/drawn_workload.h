// The tensors of an operation that draws its own cases, at one size, for a benchmark.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "coda/tools/workload.h"

namespace coda::tools {

class DrawnWorkload {
 public:
  // Memory of so many bytes that holds the pattern over and over, or zeros where it is empty.
  using Allocate = std::function<void*(int64_t bytes, std::span<const std::byte> pattern)>;

  DrawnWorkload(const catalogue::Variant& variant, const Shape& shape, bool all_ports,
                const Allocate& allocate);

  const catalogue::Call& call() const { return call_; }
  double bytes() const { return bytes_; }  // read and written

 private:
  void add(const catalogue::DrawnTensor& tensor, bool input, const Allocate& allocate);

  const catalogue::Variant* variant_;
  catalogue::Call call_;
  double bytes_;
};

// Of the CPU, with its memory; copy() moves as many bytes as the operation reads and writes.
class CpuDrawnWorkload {
 public:
  CpuDrawnWorkload(const catalogue::Variant& variant, const Shape& shape, bool all_ports);

  const DrawnWorkload& workload() const { return workload_; }
  void run(const cpu::Options& options) const { variant_->run_cpu(workload_.call(), options); }
  void copy(int threads) const;

 private:
  void* allocate(int64_t bytes, std::span<const std::byte> pattern);

  const catalogue::Variant* variant_;
  std::vector<std::vector<std::byte>> memory_;
  DrawnWorkload workload_;
  mutable std::vector<std::byte> from_, to_;
};

}  // namespace coda::tools
