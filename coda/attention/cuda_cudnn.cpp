#include "coda/attention/cuda_cudnn.h"

#include <cudnn_frontend.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "coda/attention/cuda_cudnn_graph.h"
#include "coda/attention/cuda_cudnn_library.h"
#include "coda/core/error.h"
#include "coda/plan/cuda.h"

namespace coda::attention {
namespace {

namespace frontend = cudnn_frontend;
using frontend::graph::Graph;

// Where rows follow each other without gaps.
Pitches close_pitches(Direction direction, const Shape& shape) {
  const int64_t queries = shape.heads * shape.head_dim, keys = shape.kv_heads * shape.head_dim;
  if (direction == Direction::kForward) return {queries, keys, keys, queries};
  return {queries, keys, keys, queries, queries, queries, keys, keys};
}

std::string describe(const Shape& shape) {
  return fmt::format("{} sequences of {} tokens, {} heads and {} key heads of {}", shape.batch,
                     shape.tokens, shape.heads, shape.kv_heads, shape.head_dim);
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

// A graph with kernels chosen for it, or why there are none.
struct Plan {
  std::shared_ptr<Graph> graph;
  int64_t workspace_bytes = 0;
  std::string refusal;
};

Plan make_plan(cudnnHandle_t handle, Direction direction, const Shape& shape,
               const Pitches& pitches) {
  Plan plan;
  try {
    plan.graph = make_graph(direction, shape, pitches);
    auto status = plan.graph->build(handle, {frontend::HeurMode_t::A});
    if (status.is_good()) status = plan.graph->get_workspace_size(plan.workspace_bytes);
    if (status.is_bad()) plan.refusal = one_line(status.get_message());
  } catch (const std::exception& error) {  // the frontend's own
    plan.refusal = one_line(error.what());
  }
  return plan;
}

void* address(const TensorView& view) { return const_cast<void*>(view.data); }

// cuDNN takes its statistics as one piece.
void check_lse(const char* operation, const TensorView& lse) {
  if (lse.rows <= 1 || lse.ld == lse.columns) return;
  fail_argument(operation, "lse", fmt::format("a leading dimension of {} on the GPU", lse.columns),
                fmt::format("{}", lse.ld));
}

void check_type(DType type) {
  if (type == DType::kBf16) return;
  throw DeviceError(fmt::format(
      "attention: expected bf16 on the GPU, got {}; use bf16 or the device cpu", dtype_name(type)));
}

}  // namespace

struct CudnnAttention::State {
  using Key = std::tuple<Direction, int64_t, int64_t, int64_t, int64_t, int64_t, float, Pitches>;

  State(int device, cudaStream_t stream, const CudnnOptions& options)
      : device(device), options(options) {
    cuda::device_facts(device);
    load_cudnn();
    const cuda::CurrentDevice current(device);
    try {
      check(frontend::detail::create_handle(&handle), "cudnnCreate");
      check(frontend::detail::set_stream(handle, stream), "cudnnSetStream");
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw DeviceError(fmt::format("cuda: cuDNN does not start: {}", error.what()));
    }
  }
  ~State() {
    plans.clear();
    if (handle != nullptr) frontend::detail::destroy_handle(handle);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  static void check(cudnnStatus_t status, const char* call) {
    if (status == CUDNN_STATUS_SUCCESS) return;
    throw DeviceError(
        fmt::format("cuda: {}: {}", call, frontend::detail::get_error_string(status)));
  }

  const Plan& plan(Direction direction, const Shape& s, const Pitches& pitches) {
    const Key key{direction, s.batch, s.tokens, s.heads, s.kv_heads, s.head_dim, s.scale, pitches};
    const auto found = plans.find(key);
    if (found != plans.end()) return found->second;
    const cuda::CurrentDevice current(device);
    return plans.emplace(key, make_plan(handle, direction, s, pitches)).first->second;
  }

  const Plan& working_plan(Direction direction, const Shape& shape, const Pitches& pitches) {
    const Plan& result = plan(direction, shape, pitches);
    if (result.refusal.empty()) return result;
    throw DeviceError(
        fmt::format("{}: cuDNN {} has no kernel for {}: {}",
                    direction == Direction::kForward ? "attention" : "attention_backward",
                    frontend::detail::get_backend_version(), describe(shape), result.refusal));
  }

  // Which backward a shape gets.
  Direction backward(const Shape& shape) {
    constexpr Direction kWanted = Direction::kBackwardDeterministic;
    const Plan& wanted = plan(kWanted, shape, close_pitches(kWanted, shape));
    const bool fits =
        wanted.refusal.empty() && wanted.workspace_bytes <= options.deterministic_bytes;
    return fits ? kWanted : Direction::kBackward;
  }

  int64_t bytes(Direction direction, const Shape& shape) {
    return working_plan(direction, shape, close_pitches(direction, shape)).workspace_bytes;
  }

  void run(Direction direction, const Shape& shape, const Pitches& pitches,
           std::unordered_map<int64_t, void*> pointers, void* workspace) {
    const Plan& chosen = working_plan(direction, shape, pitches);
    if (chosen.workspace_bytes > bytes(direction, shape)) {
      throw DeviceError(fmt::format(
          "attention: cuDNN wants a workspace of {} bytes for rows with gaps, and {} for rows "
          "without; copy the tensors together",
          chosen.workspace_bytes, bytes(direction, shape)));
    }
    const cuda::CurrentDevice current(device);
    for (const auto& [operand, pointer] : pointers) {
      cuda::check_device_memory("attention", fmt::format("tensor {}", operand), pointer, device);
    }
    std::string problem;
    try {
      auto status = chosen.graph->execute(handle, pointers, workspace);
      if (status.is_bad()) problem = one_line(status.get_message());
    } catch (const std::exception& error) {
      problem = one_line(error.what());
    }
    if (problem.empty()) return;
    throw DeviceError(fmt::format("attention: cuDNN {} failed on {}: {}",
                                  frontend::detail::get_backend_version(), describe(shape),
                                  problem));
  }

  int device;
  CudnnOptions options;
  cudnnHandle_t handle = nullptr;
  std::map<Key, Plan> plans;
};

CudnnAttention::CudnnAttention(int device, cudaStream_t stream, const CudnnOptions& options)
    : state_(std::make_unique<State>(device, stream, options)) {}

CudnnAttention::~CudnnAttention() = default;

int64_t CudnnAttention::workspace_bytes(const Shape& shape, DType type) const {
  validate(shape);
  check_type(type);
  if (shape.batch == 0 || shape.tokens == 0) return 0;
  return std::max(state_->bytes(Direction::kForward, shape),
                  state_->bytes(state_->backward(shape), shape));
}

bool CudnnAttention::deterministic(const Shape& shape) const {
  return state_->backward(shape) == Direction::kBackwardDeterministic;
}

void CudnnAttention::forward(const Shape& shape, const Forward& t, void* workspace) {
  validate(*this, shape, t, workspace);
  check_lse("attention", t.lse);
  if (shape.batch == 0 || shape.tokens == 0) return;
  state_->run(Direction::kForward, shape, {t.q.ld, t.k.ld, t.v.ld, t.y.ld},
              {{kQ, address(t.q)},
               {kK, address(t.k)},
               {kV, address(t.v)},
               {kY, address(t.y)},
               {kLse, address(t.lse)}},
              workspace);
}

void CudnnAttention::backward(const Shape& shape, const Backward& t, void* workspace) {
  validate(*this, shape, t, workspace);
  check_lse("attention_backward", t.lse);
  if (shape.batch == 0 || shape.tokens == 0) return;
  state_->run(state_->backward(shape), shape,
              {t.q.ld, t.k.ld, t.v.ld, t.y.ld, t.dy.ld, t.dq.ld, t.dk.ld, t.dv.ld},
              {{kQ, address(t.q)},
               {kK, address(t.k)},
               {kV, address(t.v)},
               {kY, address(t.y)},
               {kLse, address(t.lse)},
               {kDy, address(t.dy)},
               {kDq, address(t.dq)},
               {kDk, address(t.dk)},
               {kDv, address(t.dv)}},
              workspace);
}

}  // namespace coda::attention
