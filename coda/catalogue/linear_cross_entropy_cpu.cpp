#include "coda/catalogue/linear_cross_entropy.h"
#include "coda/cpu/instantiate.h"

template struct coda::cpu::Epilogue<coda::catalogue::LinearCrossEntropy<coda::bf16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearCrossEntropy<coda::fp16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearCrossEntropy<float>>;
