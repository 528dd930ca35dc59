// Sums of small integers are exact.
#pragma once
#include <coda/author/cases.h>

inline coda::author::Cases layer_norm_sums_cases() { return {.exact = {"out"}}; }
