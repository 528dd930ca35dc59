// expect: coda: a program with group sums has no RowReduce
#include "coda/cpu/instantiate.h"

struct Malformed {
  coda::RowReduce<coda::Sum> out;
  static constexpr auto port_names = coda::names("out");
  static constexpr int accumulators = 2;
  static constexpr bool groups = true;
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.reduce(out, tile.accumulator() * tile.group_sum(tile.accumulator(1)));
  }
};

template struct coda::cpu::Epilogue<Malformed>;
