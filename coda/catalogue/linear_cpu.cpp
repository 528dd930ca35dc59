#include "coda/catalogue/linear.h"
#include "coda/cpu/instantiate.h"

template struct coda::cpu::Epilogue<coda::catalogue::Linear<coda::bf16>>;
template struct coda::cpu::Epilogue<coda::catalogue::Linear<coda::fp16>>;
template struct coda::cpu::Epilogue<coda::catalogue::Linear<float>>;
