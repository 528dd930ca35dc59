// Sums of small integers are exact.
#pragma once
#include <coda/author/cases.h>

inline coda::author::Cases bias_gelu_cases() { return {.exact = {"before"}}; }
