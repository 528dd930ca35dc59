#include "coda/catalogue/linear_swiglu.h"
#include "coda/cpu/instantiate.h"

template struct coda::cpu::Epilogue<coda::catalogue::LinearSwiglu<coda::bf16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearSwiglu<coda::fp16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearSwiglu<float>>;
