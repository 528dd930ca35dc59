// expect: coda: a program has between 1 and 16 ports
#include "coda/cpu/instantiate.h"

struct Malformed {
  static constexpr auto port_names = coda::names("out");
  template <class Tile>
  CODA_HD void operator()(Tile&) const {}
};

template struct coda::cpu::Epilogue<Malformed>;
