#include "coda/catalogue/linear_residual_layer_norm.h"
#include "coda/cpu/instantiate.h"

template struct coda::cpu::Epilogue<coda::catalogue::LinearResidualLayerNorm<coda::bf16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearResidualLayerNorm<coda::fp16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearResidualLayerNorm<float>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearResidualLayerNorm<coda::bf16, float>>;
