#include "coda/plan/tensor_map.h"

#include <fmt/format.h>

#include "coda/core/error.h"
#include "coda/plan/cuda.h"

namespace coda::cuda {
namespace {

using Encode = CUresult (*)(CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
                            const cuuint64_t*, const cuuint32_t*, const cuuint32_t*,
                            CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                            CUtensorMapFloatOOBfill);

// Through the runtime, so that nothing links with the driver's library.
Encode find_encode() {
  constexpr unsigned kVersion = 12000;  // of CUDA, which brought it
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, kVersion,
                                         cudaEnableDefault, &found),
        "cudaGetDriverEntryPointByVersion");
  if (found != cudaDriverEntryPointSuccess || function == nullptr) {
    throw Error("the driver has no cuTensorMapEncodeTiled: expected one for CUDA 12.0 or later");
  }
  return reinterpret_cast<Encode>(function);
}

CUtensorMapDataType map_type(DType type) {
  return type == DType::kBf16   ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
         : type == DType::kFp16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
}

CUtensorMapSwizzle map_swizzle(int bytes) {
  return bytes == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
         : bytes == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
         : bytes == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                       : CU_TENSOR_MAP_SWIZZLE_NONE;
}

}  // namespace

void encode_tensor_map(CUtensorMap& map, const plan::MapRequest& request) {
  if (request.empty()) return;
  static const Encode encode = find_encode();
  const cuuint64_t extents[] = {static_cast<cuuint64_t>(request.columns),
                                static_cast<cuuint64_t>(request.lines)};
  const cuuint64_t pitch[] = {static_cast<cuuint64_t>(request.map_pitch())};
  const cuuint32_t box[] = {static_cast<cuuint32_t>(request.box_columns),
                            static_cast<cuuint32_t>(request.box_lines)};
  const cuuint32_t steps[] = {1, 1};
  const CUresult result =
      encode(&map, map_type(request.type), 2, const_cast<void*>(request.data), extents, pitch, box,
             steps, CU_TENSOR_MAP_INTERLEAVE_NONE, map_swizzle(request.swizzle_bytes()),
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw Error(fmt::format(
        "cuTensorMapEncodeTiled: error {} for [{}, {}] {} at {} with a pitch of {} bytes, in boxes "
        "of [{}, {}]",
        static_cast<int>(result), request.lines, request.columns, dtype_name(request.type),
        request.data, pitch[0], request.box_lines, request.box_columns));
  }
}

}  // namespace coda::cuda
