#include "coda/catalogue/linear_activation_backward.h"
#include "coda/cpu/instantiate.h"

template struct coda::cpu::Epilogue<coda::catalogue::LinearActivationBackward<coda::bf16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearActivationBackward<float>>;
