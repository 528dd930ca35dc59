#include "coda/catalogue/linear_swiglu_backward.h"
#include "coda/cpu/instantiate.h"

template struct coda::cpu::Epilogue<coda::catalogue::LinearSwigluBackward<coda::bf16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearSwigluBackward<float>>;
