// What the simulator throws out of a launch: which rule was broken, by which instruction of which
// thread, and how.
#pragma once
#include <source_location>
#include <string>

#include "coda/core/error.h"

namespace coda::sim {

// Where an instruction stands: the default argument of every simulated instruction.
#if defined(__cpp_lib_source_location)
using Location = std::source_location;
#else  // clang 14 with libstdc++
struct Location {
  const char* file = "";
  const char* function = "";
  unsigned at_line = 0, at_column = 0;
  static constexpr Location current(const char* file = __builtin_FILE(),
                                    const char* function = __builtin_FUNCTION(),
                                    unsigned line = __builtin_LINE(),
                                    unsigned column = __builtin_COLUMN()) {
    return {file, function, line, column};
  }
  constexpr const char* file_name() const { return file; }
  constexpr const char* function_name() const { return function; }
  constexpr unsigned line() const { return at_line; }
  constexpr unsigned column() const { return at_column; }
};
#endif

enum class Violation {
  kUninitialised,  // memory read before anything was written to it
  kInFlight,       // touched while an asynchronous copy is still writing it
  kRace,           // two accesses that nothing orders
  kProxy,          // plain writes read by TMA or wgmma without fence_proxy_async
  kBarrier,        // an mbarrier, named barrier or cluster barrier used wrongly
  kArrivals,       // more arrivals than a phase expects
  kTransactions,   // more bytes than a phase expects
  kPhase,          // a phase that went by before a thread waiting for it saw it
  kAddress,        // outside shared memory, or misaligned
  kTensorMap,      // a tensor map that was never encoded
  kDivergence,     // lanes or warps that disagree on an instruction they execute together
  kMultiply,       // wgmma: descriptor, shape or register rules
  kRegisters,      // setmaxnreg rules
  kExited,         // a block touched when it may have exited
  kLeftover,       // something still open at the end of the kernel
  kDeadlock,       // nothing can run
  kEndless,        // too many switches
  kTrap,
};
const char* violation_name(Violation violation);

// Who executes an instruction, and where it stands in the source. -1: not known.
struct Actor {
  int launch = -1, block = -1, warp = -1, lane = -1;
};

class Failure : public Error {
 public:
  Failure(Violation violation, const std::string& file, unsigned line, Actor actor,
          const std::string& what);

  Violation violation;
  std::string file;
  unsigned line;
  Actor actor;
};

// "block 3 warp 5 lane 0", with the launch where there are several.
std::string describe(const Actor& actor);
// The part of a path that starts at the repository's folders.
std::string short_path(const std::string& path);

}  // namespace coda::sim
