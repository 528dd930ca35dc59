// Host only.
#pragma once

namespace coda {

inline constexpr int kMaxThreads = 1024;  // OpenMP crashes where it cannot make as many as asked

}  // namespace coda
