// Masks of zeros and ones.
#pragma once
#include <coda/author/cases.h>

inline coda::author::Cases dropout_residual_cases() {
  using coda::catalogue::Values;
  return {.values = {{"mask", Values::integer(0, 1)}, {"scale", Values::uniform(1, 2)}}};
}
