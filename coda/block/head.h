// The head's node on either executor: F5, and with gradients B8, row chunk by row chunk.
#pragma once
#include "coda/block/node.h"
#include "coda/catalogue/cross_entropy.h"

namespace coda::block {

int64_t head_workspace_bytes(const HeadNode& node);
void run_head(const catalogue::OnCpu& where, const HeadNode& node,
              const catalogue::CrossEntropyWorkspace& workspace);
#if defined(CODA_HAS_CUDA)
void run_head(const catalogue::OnCuda& where, const HeadNode& node,
              const catalogue::CrossEntropyWorkspace& workspace);
#endif

}  // namespace coda::block
