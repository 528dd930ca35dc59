// expect 5: coda: a program has between 1 and 16 ports
#pragma once
#include <coda/program/program.h>

struct Bad {
  coda::Store<float> o0;
  coda::Store<float> o1;
  coda::Store<float> o2;
  coda::Store<float> o3;
  coda::Store<float> o4;
  coda::Store<float> o5;
  coda::Store<float> o6;
  coda::Store<float> o7;
  coda::Store<float> o8;
  coda::Store<float> o9;
  coda::Store<float> o10;
  coda::Store<float> o11;
  coda::Store<float> o12;
  coda::Store<float> o13;
  coda::Store<float> o14;
  coda::Store<float> o15;
  coda::Store<float> o16;
  static constexpr auto port_names =
      coda::names("o0", "o1", "o2", "o3", "o4", "o5", "o6", "o7", "o8", "o9", "o10", "o11", "o12",
                  "o13", "o14", "o15", "o16");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    tile.store(o0, tile.accumulator());
  }
};
