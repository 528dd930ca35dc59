// The C interface to cross_entropy.h.
#include <fmt/format.h>

#include <cstddef>

#include "coda/catalogue/capi_call.h"
#include "coda/catalogue/capi_guard.h"
#include "coda/catalogue/cross_entropy.h"
#if defined(CODA_HAS_CUDA)
#include "coda/plan/cuda.h"
#endif

namespace coda::catalogue {
namespace {

const std::string kName = "linear_cross_entropy";

// A matrix of this type, row-major; nothing where it may be missing and is.
template <class T>
Matrix<T> matrix(const char* argument, const coda_tensor* from, bool optional = false) {
  if (from == nullptr) {
    if (optional) return {};
    fail_argument(kName, argument, "a tensor", "a null pointer");
  }
  const TensorView view = read_tensor(kName, argument, *from);
  const DType type = dtype_of<T>;
  if (view.dtype != type) {
    fail_argument(kName, argument, fmt::format("elements of type {}", dtype_name(type)),
                  dtype_name(view.dtype));
  }
  if (view.major != Major::kRow && !view.empty()) {
    fail_argument(kName, argument, "a row-major tensor", "a column-major one");
  }
  if (view.data == nullptr && !view.empty()) {  // no wish to leave it out: a tensor was given
    fail_argument(kName, argument, "data", "a null pointer");
  }
  return {static_cast<T*>(const_cast<void*>(view.data)), view.rows, view.columns, view.ld};
}

// So many values in one row.
template <class T>
T* vector(const char* argument, const coda_tensor* from, int64_t count, bool optional = false) {
  const Matrix<T> found = matrix<T>(argument, from, optional);
  if (from != nullptr && (found.rows != 1 || found.columns != count)) {
    fail_argument(kName, argument, fmt::format("[1, {}]", count),
                  fmt::format("[{}, {}]", found.rows, found.columns));
  }
  return found.data;
}

coda_cross_entropy read(const coda_cross_entropy* call) {
  if (call == nullptr) fail_argument(kName, "call", "a coda_cross_entropy", "a null pointer");
  constexpr uint64_t kFirst = offsetof(coda_cross_entropy, dots) + sizeof(void*);  // version 0.1
  coda_cross_entropy result{};
  read_structure(kName, "size", "coda_cross_entropy", kFirst, call, &result, sizeof(result));
  if (result.step < CODA_CROSS_ENTROPY_LOSS || result.step > CODA_CROSS_ENTROPY_RECOMPUTE) {
    fail_argument(kName, "step", "a coda_cross_entropy_step of 0 to 3",
                  fmt::format("{}", result.step));
  }
  if (result.reduction < CODA_LOSS_NONE || result.reduction > CODA_LOSS_MEAN) {
    fail_argument(kName, "reduction", "a coda_loss_reduction of 0 to 2",
                  fmt::format("{}", result.reduction));
  }
  if (result.x == nullptr) fail_argument(kName, "x", "a tensor", "a null pointer");
  if (result.weight == nullptr) fail_argument(kName, "weight", "a tensor", "a null pointer");
  return result;
}

int64_t workspace_bytes(const coda_cross_entropy& c) {
  const int64_t M = c.x->rows, V = c.weight->rows;
  const DType type = read_tensor(kName, "x", *c.x).dtype;
  switch (c.step) {
    case CODA_CROSS_ENTROPY_WITH_GRADIENTS:
      return cross_entropy_with_gradients_bytes(M, V, c.chunk, type);
    case CODA_CROSS_ENTROPY_FROM_LOGITS: return cross_entropy_backward_bytes();
    case CODA_CROSS_ENTROPY_RECOMPUTE: return cross_entropy_recompute_bytes(M, V, c.chunk, type);
    default: return cross_entropy_bytes(M, V);
  }
}

LossReduction reduction_of(int32_t reduction) {
  return reduction == CODA_LOSS_NONE  ? LossReduction::kNone
         : reduction == CODA_LOSS_SUM ? LossReduction::kSum
                                      : LossReduction::kMean;
}

template <class T>
CrossEntropy<T> problem_of(const coda_cross_entropy& c) {
  CrossEntropy<T> result{.x = matrix<T>("x", c.x),
                         .weight = matrix<T>("weight", c.weight),
                         .target = vector<int64_t>("target", c.target, c.x->rows),
                         .rstd = {},
                         .options = {.soft_cap = static_cast<float>(c.soft_cap),
                                     .z_loss = static_cast<float>(c.z_loss),
                                     .smoothing = static_cast<float>(c.smoothing),
                                     .ignore_index = c.ignore_index,
                                     .reduction = reduction_of(c.reduction)}};
  if (c.rstd != nullptr) {
    result.rstd.view[0] = matrix<float>("rstd", c.rstd);
    result.rstd.given = true;
    result.rstd.finish.width = static_cast<float>(c.rstd_width);
    result.rstd.finish.epsilon = static_cast<float>(c.rstd_epsilon);
  }
  return result;
}

template <class T>
CrossEntropyGradients<T> gradients_of(const coda_cross_entropy& c) {
  const bool each = c.reduction == CODA_LOSS_NONE, again = c.step == CODA_CROSS_ENTROPY_RECOMPUTE;
  CrossEntropyGradients<T> result;
  result.dloss = vector<float>("dloss", c.dloss, each ? c.x->rows : 1, true);
  result.dweight = matrix<float>("dweight", c.dweight, true);
  result.add_to_dweight = c.add_to_dweight != 0;
  if (again) {
    result.dx_sum = matrix<float>("dx", c.dx, true);
  } else {
    result.dx = matrix<T>("dx", c.dx, true);
  }
  if (c.dots != nullptr && c.rstd == nullptr) {
    fail_argument(kName, "dots", "none without rstd", "a tensor");
  }
  result.dots = matrix<float>("dots", c.dots, c.rstd == nullptr);
  return result;
}

template <class T, class Where>
void run(const coda_cross_entropy& c, const CrossEntropyWorkspace& workspace, const Where& where) {
  const CrossEntropy<T> problem = problem_of<T>(c);
  const int64_t M = c.x->rows;
  float* lse = vector<float>("lse", c.lse, M);
  const auto outputs = [&] {
    const int64_t losses = c.reduction == CODA_LOSS_NONE ? M : 1;
    return CrossEntropyLoss{vector<float>("loss", c.loss, losses), lse, c.error};
  };
  switch (c.step) {
    case CODA_CROSS_ENTROPY_WITH_GRADIENTS:
      return cross_entropy_with_gradients(where, problem, outputs(), gradients_of<T>(c), c.chunk,
                                          workspace);
    case CODA_CROSS_ENTROPY_FROM_LOGITS:
      return cross_entropy_backward(where, problem, lse,
                                    Matrix<const T>(matrix<T>("logits", c.logits)),
                                    matrix<T>("dz", c.dz), gradients_of<T>(c), workspace);
    case CODA_CROSS_ENTROPY_RECOMPUTE:
      return cross_entropy_recompute(where, problem, lse, gradients_of<T>(c), c.chunk, workspace);
    default:
      return cross_entropy(where, problem, outputs(), matrix<T>("logits", c.logits, true),
                           workspace);
  }
}

void run_on_cuda(const coda_cross_entropy& c, const CrossEntropyWorkspace& workspace,
                 const coda_options& options) {
#if defined(CODA_HAS_CUDA)
  const cuda::Target target{.device = options.gpu,
                            .stream = static_cast<cudaStream_t>(options.stream)};
  run<bf16>(c, workspace, OnCuda{target});
#else
  (void)c, (void)workspace, (void)options;
  throw DeviceError(kName +
                    ": options.device: expected CODA_CPU, got CODA_CUDA: this libcoda was "
                    "built without CUDA");
#endif
}

void run_on_cpu(const coda_cross_entropy& c, const CrossEntropyWorkspace& workspace,
                const coda_options& options) {
  OnCpu where;
  where.options.threads = options.threads;
  if (options.isa != nullptr) where.options.isa = cpu::parse_isa(options.isa);
  if (read_tensor(kName, "x", *c.x).dtype == DType::kFp32) return run<float>(c, workspace, where);
  run<bf16>(c, workspace, where);
}

}  // namespace
}  // namespace coda::catalogue

using namespace coda::catalogue;

extern "C" {

coda_status coda_run_cross_entropy(const coda_cross_entropy* call, const coda_options* options) {
  return guarded([&] {
    const coda_cross_entropy c = read(call);
    const coda_options o = read_options(kName, options);
    const CrossEntropyWorkspace workspace{o.workspace, o.workspace_bytes};
    (o.device == CODA_CUDA ? run_on_cuda : run_on_cpu)(c, workspace, o);
  });
}

coda_status coda_cross_entropy_workspace_bytes(const coda_cross_entropy* call, int64_t* bytes) {
  return guarded([&] {
    if (bytes == nullptr) coda::fail_argument(kName, "bytes", "an int64_t", "a null pointer");
    *bytes = workspace_bytes(read(call));
  });
}

}  // extern "C"
