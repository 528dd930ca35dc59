// Scales are positive.
#pragma once
#include <coda/author/cases.h>

inline coda::author::Cases absmax_rows_cases() {
  return {.values = {{"inverse_scale", coda::catalogue::Values::uniform(0.25, 4)}}};
}
