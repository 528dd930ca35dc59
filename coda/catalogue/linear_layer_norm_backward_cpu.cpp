#include "coda/catalogue/linear_layer_norm_backward.h"
#include "coda/cpu/instantiate.h"

template struct coda::cpu::Epilogue<coda::catalogue::LinearLayerNormBackward<coda::bf16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearLayerNormBackward<float>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearLayerNormBackward<coda::bf16, float>>;
