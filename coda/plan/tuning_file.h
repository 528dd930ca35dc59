// The file that tuned choices are kept in: one line per entry, after a line that names the format.
#pragma once
#include <string>

#include "coda/plan/tuning.h"

namespace coda::plan {

// Nothing where the file is missing, cannot be read, or has another format: a cache that is lost
// costs speed, no more.
TuningCache read_tuning(const std::string& path);

// Adds the entries to those of the file, which is made where there is none, and replaces it as a
// whole: a reader sees the old file or the whole of the other one. Several writers take turns (they
// lock path.lock, which stays), so that none loses what another one wrote. Throws coda::Error where
// the file cannot be written or is something else than a cache.
void merge_tuning(const std::string& path, const TuningCache& cache);

}  // namespace coda::plan
