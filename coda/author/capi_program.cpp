// The C interface's programs of one's own.
#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>

#include "coda/author/traced_program.h"
#include "coda/catalogue/capi_call.h"
#include "coda/catalogue/capi_guard.h"
#include "coda/catalogue/capi_port.h"
#include "coda/catalogue/capi_target.h"
#include "coda/core/error.h"
#include "coda/trace/backward_program.h"
#include "coda/trace/graph_text.h"

struct coda_program {
  std::string key;
  coda::author::TracedProgram program;
};

namespace coda::author {
namespace {

// By what they were made of; they stay for the rest of the process.
class Programs {
 public:
  template <class Make>
  const coda_program* get(const std::string& key, Make&& make) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<coda_program>& known = programs_[key];
    if (known == nullptr) {
      auto [graph, operand] = make();
      known.reset(new coda_program{key, {std::move(graph), operand}});
    }
    return known.get();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<coda_program>> programs_;
};

Programs& programs() {
  static auto* const all = new Programs;  // compiled code may run until the very end
  return *all;
}

template <class T>
T* required(T* pointer, const char* what) {
  if (pointer == nullptr) throw Error(fmt::format("{}: got a null pointer", what));
  return pointer;
}

std::vector<std::string> words(const char* text) {
  std::istringstream stream(text);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

DType kept_type(const TracedProgram& program, int32_t dtype) {
  switch (dtype) {
    case CODA_BF16: return DType::kBf16;
    case CODA_FP16: return DType::kFp16;
    case CODA_FP32: return DType::kFp32;
  }
  fail_argument(program.view().name, "kept_dtype", "CODA_BF16, CODA_FP16 or CODA_FP32",
                fmt::format("{}", dtype));
}

// What it computes on changes while it is compiled, what it is does not.
TracedProgram& program_of(const coda_program* program) {
  return const_cast<coda_program*>(required(program, "program"))->program;
}

}  // namespace
}  // namespace coda::author

using namespace coda::author;
using coda::catalogue::guarded;

extern "C" {

coda_status coda_define_program(const char* text, const coda_program** program) {
  return guarded([&] {
    required(text, "coda_define_program: text");
    *required(program, "coda_define_program: program") = programs().get(text, [&] {
      auto read = coda::trace::read_graph(text);
      return std::pair(std::move(read.graph), read.operand);
    });
  });
}

coda_status coda_derive_program(const coda_program* program, const coda_backward* options,
                                const coda_program** derived) {
  return guarded([&] {
    const TracedProgram& forward = program_of(program);
    constexpr const char* kName = "coda_derive_program";
    constexpr uint64_t kFirst = offsetof(coda_backward, kept_dtype) + sizeof(int32_t);
    coda_backward o{};
    coda::catalogue::read_structure(kName, "options.size", "coda_backward", kFirst,
                                    required(options, "coda_derive_program: options"), &o,
                                    sizeof(o));
    required(o.outputs, "coda_derive_program: options.outputs");
    if (o.gradients == nullptr) o.gradients = "";
    const coda::trace::BackwardOptions asked{.outputs = words(o.outputs),
                                             .gradients = words(o.gradients),
                                             .accumulators = o.accumulators != 0,
                                             .kept = o.kept != 0,
                                             .kept_element = kept_type(forward, o.kept_dtype),
                                             .operand = forward.operand()};
    const std::string key = fmt::format("{}\nbackward {} | {} | {} {} {}", program->key, o.outputs,
                                        o.gradients, o.accumulators, o.kept, o.kept_dtype);
    *required(derived, "coda_derive_program: derived") = programs().get(key, [&] {
      return std::pair(coda::trace::backward_program(forward.graph(), asked), forward.operand());
    });
  });
}

const char* coda_program_source(const coda_program* program) {
  const char* result = nullptr;
  guarded([&] { result = program_of(program).source().c_str(); });
  return result;
}

coda_status coda_get_program_port(const coda_program* program, int32_t index, coda_port* port) {
  return guarded([&] {
    const std::vector<coda::PortView>& ports = program_of(program).view().ports;
    coda::catalogue::write_port(ports, index, port);
    port->optional = ports[static_cast<size_t>(index)].optional ? 1 : 0;  // none has a default
  });
}

coda_status coda_run_program(const coda_program* program, const coda_operand* a,
                             const coda_operand* b, const coda_argument* arguments,
                             int32_t argument_count, const coda_options* options) {
  return guarded([&] {
    TracedProgram& traced = program_of(program);
    const std::string& name = traced.view().name;
    const coda::catalogue::Call call =
        coda::catalogue::read_operands(name, a, b, arguments, argument_count, true);
    const coda_options where = coda::catalogue::read_options(name, options);
    if (where.device == CODA_CPU) {
      coda::cpu::Options cpu;
      cpu.threads = where.threads;
      if (where.isa != nullptr) cpu.isa = coda::cpu::parse_isa(where.isa);
      traced.run_cpu(call, cpu);
      return;
    }
#if defined(CODA_HAS_CUDA)
    traced.run_cuda(call, coda::catalogue::target_of(where));
#else
    throw coda::DeviceError(fmt::format(
        "{}: options.device: expected CODA_CPU, got CODA_CUDA: this libcoda was built without CUDA",
        name));
#endif
  });
}

}  // extern "C"
