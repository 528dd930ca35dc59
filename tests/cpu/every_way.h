// Runs a call in every way that must not matter: all instruction sets here, several numbers of
// threads.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "coda/cpu/run.h"
#include "tests/cpu/tensor.h"

namespace coda::cpu {

// check(options) after each run(options), the outputs cleared in between. Within an instruction set
// the outputs must have the same bits for every number of threads.
template <class Run, class Check, class... Outputs>
void every_way(Run run, Check check, Outputs&... outputs) {
  for (const Isa isa : available_isas()) {
    std::tuple<Outputs...> first(outputs...);
    for (const int threads : {1, 2, 3}) {
      SCOPED_TRACE(std::string(isa_name(isa)) + ", threads " + std::to_string(threads));
      (outputs.clear(), ...);
      run(Options{.threads = threads, .isa = isa});
      if (threads == 1) {
        check();
        first = std::tuple<Outputs...>(outputs...);
      } else {
        std::apply(
            [&](const auto&... other) {
              EXPECT_TRUE((outputs.same_bits(other) && ...)) << "bits depend on the threads";
            },
            first);
      }
    }
  }
}

}  // namespace coda::cpu
