#include "coda/sim/shared.h"

#include <fmt/format.h>

#include <cstring>

#include "coda/sim/mbarrier.h"
#include "coda/sim/warp.h"

namespace coda::sim {

namespace {

// An access of `words` words by one thread, aligned to its size.
uint8_t* access(const Call& call, const Thread& thread, uint32_t address, uint32_t words,
                bool write) {
  own_address(call, address);
  if (address % (words * 4) != 0) {
    call.fail(Violation::kAddress,
              fmt::format("{} is not aligned to {} bytes", describe_address(address), words * 4));
  }
  SharedMemory& memory = thread.block->memory;
  if (write) {
    memory.check_write(thread, call.site, address, words * 4);
  } else {
    memory.check_read(thread, call.site, address, words * 4);
  }
  return memory.at(address);
}

struct MatrixArguments {
  uint32_t address;
  uint32_t value[4];
};

// Of the first `matrices`: lane l holds columns 2·(l % 4) and the next of row l / 4 of each.
void for_each_word(const Call& call, MatrixArguments* (&lanes)[32], uint32_t matrices, bool write) {
  const Warp& warp = *call.thread.warp;
  for (uint32_t lane = 0; lane < matrices * 8; ++lane) {
    if (lanes[lane]->address % 16 != 0) {
      call.fail(Violation::kAddress,
                fmt::format("row address {} of lane {} is not aligned to 16 bytes",
                            describe_address(lanes[lane]->address), lane));
    }
  }
  for (uint32_t matrix = 0; matrix < matrices; ++matrix) {
    for (uint32_t lane = 0; lane < 32; ++lane) {
      const uint32_t address = lanes[matrix * 8 + lane / 4]->address + lane % 4 * 4;
      uint8_t* at = access(call, *warp.lanes[lane], address, 1, write);
      if (write) {
        std::memcpy(at, &lanes[lane]->value[matrix], 4);
      } else {
        std::memcpy(&lanes[lane]->value[matrix], at, 4);
      }
    }
  }
}

template <uint32_t kMatrices>
void load_matrices(Call& call, uint32_t address, uint32_t (&value)[kMatrices]) {
  MatrixArguments arguments{address, {}};
  together(call, true, arguments,
           [&](MatrixArguments*(&lanes)[32]) { for_each_word(call, lanes, kMatrices, false); });
  std::memcpy(value, arguments.value, sizeof(value));
}

template <uint32_t kMatrices>
void store_matrices(Call& call, uint32_t address, const uint32_t (&value)[kMatrices]) {
  MatrixArguments arguments{address, {}};
  std::memcpy(arguments.value, value, sizeof(value));
  together(call, true, arguments,
           [&](MatrixArguments*(&lanes)[32]) { for_each_word(call, lanes, kMatrices, true); });
}

}  // namespace

void store_shared(uint32_t address, uint32_t value, Location where) {
  const Call call(where, SiteKind::kOther, "store_shared");
  std::memcpy(access(call, call.thread, address, 1, true), &value, 4);
}

void store_shared_x2(uint32_t address, uint32_t a, uint32_t b, Location where) {
  const Call call(where, SiteKind::kOther, "store_shared_x2");
  const uint32_t values[2] = {a, b};
  std::memcpy(access(call, call.thread, address, 2, true), values, 8);
}

uint32_t load_shared(uint32_t address, Location where) {
  const Call call(where, SiteKind::kOther, "load_shared");
  uint32_t value;
  std::memcpy(&value, access(call, call.thread, address, 1, false), 4);
  return value;
}

void load_shared_x2(uint32_t address, uint32_t& a, uint32_t& b, Location where) {
  const Call call(where, SiteKind::kOther, "load_shared_x2");
  uint32_t values[2];
  std::memcpy(values, access(call, call.thread, address, 2, false), 8);
  a = values[0];
  b = values[1];
}

void load_matrix_x4(uint32_t address, uint32_t (&value)[4], Location where) {
  Call call(where, SiteKind::kOther, "load_matrix_x4");
  load_matrices(call, address, value);
}
void load_matrix_x2(uint32_t address, uint32_t (&value)[2], Location where) {
  Call call(where, SiteKind::kOther, "load_matrix_x2");
  load_matrices(call, address, value);
}

void store_matrix_x4(uint32_t address, const uint32_t (&value)[4], Location where) {
  Call call(where, SiteKind::kOther, "store_matrix_x4");
  store_matrices(call, address, value);
}
void store_matrix_x2(uint32_t address, const uint32_t (&value)[2], Location where) {
  Call call(where, SiteKind::kOther, "store_matrix_x2");
  store_matrices(call, address, value);
}

}  // namespace coda::sim
