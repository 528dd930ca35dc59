// A run's losses over its steps as a line chart: SVG without scripts, fonts or anything from
// outside, the same text for the same metrics.
#pragma once
#include <string>

#include "coda/train/metrics.h"

namespace coda::train {

// The loss of every step as a thin line, smoothed as a thick one, held-out losses as points.
// `title` may hold any bytes. Losses that are no numbers leave a gap.
std::string loss_plot_svg(const std::string& title, const Metrics& metrics);

// loss.svg in a run's folder, of the metrics there. Where it is; where it cannot be written, why: a
// run is complete without it.
std::string write_loss_plot(const std::string& title, const std::string& run_folder);

}  // namespace coda::train
