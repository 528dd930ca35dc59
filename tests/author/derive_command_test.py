"""What `coda derive` prints is a program that compiles, whatever its ports are."""

import sys
from pathlib import Path

from commands_test import expect, run, run_checks

TURNED = """#pragma once
#include <coda/program/angle.h>
#include <coda/program/program.h>
template <class T>
struct Turned {
  coda::Scalar<T> slope;
  coda::PerColumn<const float> frequency;
  coda::Store<T> out;
  coda::RowReduce<coda::Sum> total;
  static constexpr const char* name = "turned";
  static constexpr auto port_names = coda::names("slope", "frequency", "out", "total");
  template <class Tile>
  CODA_HD void operator()(Tile& tile) const {
    const auto turn = coda::rotation(coda::to_float(tile.row()), tile.load(frequency));
    const auto z = tile.accumulator() * tile.load(slope) * turn.sine;
    tile.store(out, z);
    tile.reduce(total, z);
  }
};
"""


def check_ports(folder: Path) -> None:
    """A number of 16 bits, the sine without the cosine, an operand where only sums flow back."""
    (folder / "turned.h").write_text(TURNED)
    text = run("derive", "turned.h", "--gradients", "-", "--outputs", "total", folder=folder).stdout
    expect(text, "#include <coda/program/angle.h>", "coda::Scalar<coda::bf16> slope; ")
    expect(text, "coda::Store<coda::bf16> daccumulator;")
    (folder / "turned_backward.h").write_text(text)
    run("check", "turned_backward.h", "--cases", "3", folder=folder)


if __name__ == "__main__":
    sys.exit(run_checks(check_ports))
