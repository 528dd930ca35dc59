// Operations of coda/rows, called by name: tensors and numbers that belong to no GEMM.
#pragma once
#include "coda/catalogue/operation.h"
#if defined(CODA_HAS_CUDA)
#include "coda/plan/cuda.h"
#endif

namespace coda::catalogue {

// What a call gives, by name; the names and types have been checked.
class NamedArguments {
 public:
  NamedArguments(const ProgramView& program, const std::vector<std::string>& parameters,
                 const Call& call)
      : operation_(program.name), arguments_(call.arguments) {
    check_arguments(program, parameters, arguments_);
  }

  TensorView tensor(const char* name) const;
  std::optional<TensorView> maybe(const char* name) const;
  // Of states of so many bytes, which may have come as floats, one after the other.
  TensorView states(const char* name, int64_t bytes) const;
  std::optional<TensorView> maybe_states(const char* name, int64_t bytes) const;
  double number(const char* name) const;  // has to be given
  double number(const char* name, double otherwise) const;
  int64_t integer(const char* name) const;  // likewise
  bool flag(const char* name) const;        // 0, which it is if left out, or 1

 private:
  std::string operation_;
  std::span<const Argument> arguments_;
};

PortView tensor_in(const char* name, const char* shape, DType type);
PortView tensor_out(const char* name, const char* shape, DType type);
PortView states_out(const char* name, const char* shape, int64_t bytes);  // of each state
PortView optional(PortView port);
PortView updated(PortView port);  // may be read before it is written

// Extents of random cases: none, one, a few, ragged, whole partials; hidden sizes up to 8192, of
// which a case with many tokens takes small ones.
int64_t draw_tokens(Random& random);
int64_t draw_hidden(Random& random, int64_t tokens);
Extent draw_extent(const DrawRequest& request);  // both; a benchmark's M and N

// Op has program(), parameters(), read(NamedArguments), run_cpu(arguments, threads),
// run_cuda(arguments, stream), draw(request). One that takes a workspace has workspace_bytes(
// arguments), and its arguments have a place for it.
template <class Op>
Variant row_variant(std::string name, DType type) {
  const auto read = [](const Call& call) {
    static const ProgramView program = Op::program();
    static const std::vector<std::string> parameters = Op::parameters();
    return Op::read(NamedArguments(program, parameters, call));
  };
  Variant result;
  result.name = std::move(name);
  result.operand = type;
  result.program = Op::program();
  result.parameters = Op::parameters();
  result.draw = &Op::draw;
  result.run_cpu = [](const Call& call, const cpu::Options& options) {
    Op::run_cpu(decltype(read){}(call), options.threads);
  };
#if defined(CODA_HAS_CUDA)
  result.run_cuda = [](const Call& call, const cuda::Target& target) {
    const cuda::CurrentDevice current(target.device);
    auto arguments = decltype(read){}(call);
    if constexpr (requires { arguments.workspace; }) {
      arguments.workspace = target.workspace;
      arguments.workspace_bytes = target.workspace_bytes;
    }
    Op::run_cuda(arguments, target.stream);
  };
  result.cuda_workspace_bytes = [](const Call& call, const cuda::Target& target) -> int64_t {
    const cuda::CurrentDevice current(target.device);
    if constexpr (requires { &Op::workspace_bytes; }) {
      return Op::workspace_bytes(decltype(read){}(call));
    }
    return 0;
  };
#endif
  return result;
}

}  // namespace coda::catalogue
