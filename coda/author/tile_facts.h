// What kernel::KernelTraits knows of a kernel, for a program whose type only its text has. Sources
// that are compiled from the text assert that it is the same. Host only.
#pragma once
#include "coda/author/kernels.h"
#include "coda/program/describe.h"

namespace coda::author {

struct TileFacts {
  int tile = 0;  // place in kernel::kTileConfigs
  int shared_bytes = 0;
  bool any_columns = false;  // else only outputs whose lines are multiples of 16 bytes
};

// The tiles that kernels.h chooses for the program: a wide one and a narrow one, where its ports
// fit. Every port is given. Throws coda::Error that says what each port takes, where none has room.
// combines_states: whether one of its reductions does so many at a time (CombinesAll).
std::vector<TileFacts> choose_tiles(const ProgramView& program, bool combines_states);

}  // namespace coda::author
