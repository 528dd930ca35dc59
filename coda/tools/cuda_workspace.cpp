#include "coda/tools/cuda_workspace.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "coda/core/error.h"
#include "coda/tools/check_backend.h"

namespace coda::tools {
namespace {

constexpr int64_t kGuardBytes = 4096;
constexpr int kFill = 0xa5;

}  // namespace

GuardedWorkspace::GuardedWorkspace(const catalogue::Variant& variant, const catalogue::Call& call,
                                   const cuda::Target& target)
    : bytes_(variant.cuda_workspace_bytes(call, target)) {
  if (bytes_ == 0) return;
  memory_.emplace(bytes_ + 2 * kGuardBytes);
  memory_->fill(kFill);
  // Streams that do not wait for the default one must see it too.
  cuda::check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

void* GuardedWorkspace::data() const {
  return memory_ ? static_cast<std::byte*>(memory_->data()) + kGuardBytes : nullptr;
}

void GuardedWorkspace::check() const {
  if (!memory_) return;
  for (const int64_t begin : {int64_t{0}, kGuardBytes + bytes_}) {
    std::vector<std::byte> guard(kGuardBytes);
    memory_->copy_to_host(guard.data(), begin, kGuardBytes);
    const auto changed =
        std::ranges::find_if(guard, [](std::byte b) { return b != std::byte{kFill}; });
    if (changed == guard.end()) continue;
    throw RunFailure(fmt::format("something wrote to byte {} of a workspace of {} bytes",
                                 begin - kGuardBytes + (changed - guard.begin()), bytes_));
  }
}

}  // namespace coda::tools
