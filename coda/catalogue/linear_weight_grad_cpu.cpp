#include "coda/catalogue/linear_weight_grad.h"
#include "coda/cpu/instantiate.h"

template struct coda::cpu::Epilogue<coda::catalogue::LinearWeightGrad<coda::bf16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearWeightGrad<coda::fp16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearWeightGrad<float>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearWeightGradFolded<coda::bf16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearWeightGradFolded<float, coda::bf16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearWeightGradFolded<float>>;
