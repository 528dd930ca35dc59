#include <coda/cpu/instantiate.h>

#include "scaled_relu.h"

template struct coda::cpu::Epilogue<ScaledRelu>;
