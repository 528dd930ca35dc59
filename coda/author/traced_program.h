// A program that was traced elsewhere and came as a graph: printed as C++, compiled when it first
// runs on a device, for the processor by the host's compiler and for the GPU by NVRTC.
#pragma once
#include <memory>
#include <mutex>
#include <optional>

#include "coda/author/bound_program.h"
#include "coda/author/host_epilogue.h"
#include "coda/catalogue/operation.h"
#include "coda/trace/graph.h"

namespace coda::author {

class TracedGpuProgram;  // in cuda_traced_program.cpp

class TracedProgram {
 public:
  // operand: elements of A and B.
  TracedProgram(trace::Graph graph, DType operand);

  const trace::Graph& graph() const { return graph_; }
  const ProgramView& view() const { return graph_.program; }
  DType operand() const { return operand_; }
  const std::string& source() const { return source_; }  // the struct
  const ProgramText& text() const { return text_; }

  // A [M, K], B [N, K] for each accumulator. Throws coda::Error before anything is written
  // where the call does not fit; coda::DeviceError where nothing here compiles the program.
  void run_cpu(const catalogue::Call& call, const cpu::Options& options);
  // In libraries that were built with CUDA.
  void run_cuda(const catalogue::Call& call, const cuda::Target& target);

 private:
  void check_operand(const catalogue::Call& call) const;
  HostEpilogue epilogue(cpu::Isa isa);

  trace::Graph graph_;
  DType operand_;
  std::string source_;
  ProgramText text_;
  int64_t scratch_per_column_ = 0;                        // floats
  std::mutex mutex_;                                      // of what is compiled once
  std::array<std::optional<HostEpilogue>, 3> epilogues_;  // by instruction set
  std::shared_ptr<TracedGpuProgram> gpu_;
};

}  // namespace coda::author
