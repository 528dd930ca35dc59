#include "coda/catalogue/linear_activation.h"
#include "coda/cpu/instantiate.h"

template struct coda::cpu::Epilogue<coda::catalogue::LinearActivation<coda::bf16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearActivation<coda::fp16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearActivation<float>>;
