#include "coda/catalogue/linear_cross_entropy_backward.h"
#include "coda/cpu/instantiate.h"

template struct coda::cpu::Epilogue<coda::catalogue::LinearCrossEntropyBackward<coda::bf16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearCrossEntropyBackward<float>>;
