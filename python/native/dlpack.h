// The parts of DLPack that a tensor is read through: the layouts of the DLPack specification, and
// the table of functions that torch.Tensor.__dlpack_c_exchange_api__ holds (DLPack 1.2 and later).
#pragma once
#include <cstdint>

namespace dlpack {

inline constexpr uint32_t kMajor = 1;  // of a table that reads like the one below

enum DeviceType : int32_t { kCpu = 1, kCuda = 2 };
enum TypeCode : uint8_t { kInt = 0, kFloat = 2, kBfloat = 4 };

struct Tensor {
  void* data;
  int32_t device_type, device_id;
  int32_t dimensions;
  uint8_t type_code, type_bits;
  uint16_t type_lanes;
  int64_t* shape;    // [dimensions]
  int64_t* strides;  // [dimensions], in elements
  uint64_t byte_offset;
};

struct ExchangeApi {
  uint32_t major, minor;
  ExchangeApi* previous;  // a table of an earlier major version
  void (*allocate)();     // not used here, and neither are the next two
  void (*owned_from_object)();
  void (*object_from_owned)();
  // Gives a view that is valid while the object lives; not 0: a Python error is set.
  int (*tensor_from_object)(void* object, Tensor* out);
  int (*current_stream)(int32_t device_type, int32_t device_id, void** stream);
};

}  // namespace dlpack
