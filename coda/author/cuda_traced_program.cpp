// Traced programs on the GPU: NVRTC compiles their text; the launch's arguments, which a kernel
// takes as kernel::Arguments of the program's type, are put together from bytes.
#include <cuda.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "coda/author/runtime_kernel.h"
#include "coda/author/traced_kernel.h"
#include "coda/author/traced_program.h"
#include "coda/core/error.h"
#include "coda/plan/cuda.h"
#include "coda/plan/grid.h"
#include "coda/plan/tensor_map.h"

namespace coda::author {
namespace {

constexpr size_t kMap = ArgumentLayout::kMapBytes;
static_assert(sizeof(CUtensorMap) == kMap);

constexpr size_t kMostBytes = 16384;
static_assert((ArgumentLayout::kOperandMaps + kMaxPorts * kMaxSegments) * kMap +
                  kMaxPorts * sizeof(Store<float>) + sizeof(kernel::Grid) + kMap <=
              kMostBytes);

class LaunchArguments {
 public:
  LaunchArguments(const BoundProgram& bound, const plan::LaunchRequest& request, int tile,
                  const kernel::Grid& grid) {
    const ArgumentLayout layout(bound.view());
    for (const PlacedMap& map : traced_maps(bound.view(), request, tile)) {
      cuda::encode_tensor_map(*reinterpret_cast<CUtensorMap*>(bytes_ + map.place * kMap),
                              map.request);
    }
    std::memcpy(bytes_ + layout.program, bound.data(), layout.grid - layout.program);
    std::memcpy(bytes_ + layout.grid, &grid, sizeof(grid));
  }

  void* data() { return bytes_; }

 private:
  alignas(CUtensorMap) std::byte bytes_[kMostBytes] = {};
};

constexpr int kTiles = static_cast<int>(std::size(kernel::kTileConfigs));

}  // namespace

class TracedGpuProgram {
 public:
  TracedGpuProgram(const ProgramText& text, const ProgramView& view, DType operand,
                   bool combines_states);

  void run(const BoundProgram& bound, const catalogue::Call& call, const cuda::Target& target);

 private:
  struct Launch {  // what a LaunchRequest's program is
    const TracedGpuProgram* self;
    const BoundProgram* bound;
  };
  template <int kTile>
  static void launch(const plan::LaunchRequest& request, const void* target);
  template <int... kTile>
  static auto launches(std::integer_sequence<int, kTile...>) {
    using Function = void (*)(const plan::LaunchRequest&, const void*);
    return std::array<Function, sizeof...(kTile)>{&launch<kTile>...};
  }
  // The fastest of the tiles whose kernels have registers enough on the device.
  plan::KernelEntry choose(const ProgramView& view, const plan::LaunchRequest& request,
                           const cuda::Target& target);

  std::vector<plan::KernelEntry> entries_;
  std::array<std::unique_ptr<RuntimeKernel>, kTiles> kernels_;  // by tile
  std::mutex mutex_;                                            // of entries_
};

TracedGpuProgram::TracedGpuProgram(const ProgramText& text, const ProgramView& view, DType operand,
                                   bool combines_states) {
  if (operand != DType::kBf16 && operand != DType::kFp16) {
    throw Error(
        fmt::format("{}: argument 'A': expected elements of type bf16 or fp16 on the GPU, "
                    "got {}",
                    view.name, dtype_name(operand)));
  }
  const auto functions = launches(std::make_integer_sequence<int, kTiles>{});
  for (const TileFacts& facts : choose_tiles(view, combines_states)) {
    const kernel::TileConfig tile = kernel::kTileConfigs[facts.tile];
    kernels_.at(static_cast<size_t>(facts.tile)) = std::make_unique<RuntimeKernel>(
        traced_kernel(text, view, operand, facts), tile.cluster_rows * tile.cluster_columns,
        facts.shared_bytes);
    entries_.push_back({.operand = operand,
                        .config = tile,
                        .accumulators = view.accumulators,
                        .shared_bytes = facts.shared_bytes,
                        .any_columns = facts.any_columns,
                        .slice_space = {},
                        .launch = functions.at(static_cast<size_t>(facts.tile))});
  }
}

template <int kTile>
void TracedGpuProgram::launch(const plan::LaunchRequest& request, const void* target_pointer) {
  const cuda::Target& target = *static_cast<const cuda::Target*>(target_pointer);
  const auto& asked = *static_cast<const Launch*>(request.program);
  const RuntimeKernel& kernel = *asked.self->kernels_[kTile];
  const kernel::Grid grid =
      plan::make_grid(*request.problem, kernel::kTileConfigs[kTile],
                      asked.bound->view().accumulators, kernel.active_clusters(target));
  LaunchArguments arguments(*asked.bound, request, kTile, grid);
  kernel.launch(arguments.data(), grid.clusters, {}, target);
}

plan::KernelEntry TracedGpuProgram::choose(const ProgramView& view,
                                           const plan::LaunchRequest& request,
                                           const cuda::Target& target) {
  const std::lock_guard lock(mutex_);
  const plan::Device& device = cuda::device_facts(target.device);
  for (;;) {
    const plan::KernelEntry& entry = plan::pick(nullptr, entries_, view, request, device);
    const auto place = static_cast<size_t>(&entry - entries_.data());
    const auto tile = std::ranges::find(kernel::kTileConfigs, entry.config);
    const auto& kernel = kernels_.at(static_cast<size_t>(tile - std::begin(kernel::kTileConfigs)));
    try {
      const cuda::CurrentDevice current(target.device);
      kernel->active_clusters(target);  // compiles it
      return entry;
    } catch (const RegistersError&) {
      if (entries_.size() == 1) throw;
      entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(place));
    }
  }
}

void TracedGpuProgram::run(const BoundProgram& bound, const catalogue::Call& call,
                           const cuda::Target& target) {
  const ProgramView& view = bound.view();
  const Problem problem = validate(view, call.a, call.b);
  cuda::validate_device(view, problem, call.a, call.b, target.device);
  const bool nothing = view.ports.empty();  // as in TracedProgram::run_cpu
  if (nothing || problem.M() == 0 || problem.N() == 0) return;
  const Launch launch{this, &bound};
  const plan::LaunchRequest request{&launch, &problem, &call.a, &call.b};
  cuda::Target chosen = target;
  const plan::KernelEntry entry = choose(view, request, target);
  chosen.kernel = &entry;
  cuda::launch_chosen({&entry, 1}, view, request, chosen);
}

void TracedProgram::run_cuda(const catalogue::Call& call, const cuda::Target& target) {
  check_operand(call);
  const BoundProgram bound(view(), call.arguments);
  {
    const std::lock_guard lock(mutex_);
    if (gpu_ == nullptr) {
      static_assert(CombinesAll<LogSumExp> && !CombinesAll<Sum> && !CombinesAll<Max>);
      const bool combines_states = std::ranges::any_of(graph_.facts, [](const auto& facts) {
        return facts.reduction != nullptr && facts.reduction->type == "coda::LogSumExp";
      });
      gpu_ = std::make_shared<TracedGpuProgram>(text_, view(), operand_, combines_states);
    }
  }
  gpu_->run(bound, call, target);
}

}  // namespace coda::author
