#include "coda/catalogue/linear_residual_norm.h"
#include "coda/cpu/instantiate.h"

template struct coda::cpu::Epilogue<coda::catalogue::LinearResidualNorm<coda::bf16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearResidualNorm<coda::fp16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearResidualNorm<float>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearResidualNorm<coda::bf16, float>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearResidualNormFolded<coda::bf16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearResidualNormFolded<coda::fp16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearResidualNormFolded<float>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearResidualNormFolded<coda::bf16, float>>;
