#include "coda/catalogue/linear_rope.h"
#include "coda/cpu/instantiate.h"

template struct coda::cpu::Epilogue<coda::catalogue::LinearRope<coda::bf16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearRope<coda::fp16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearRope<float>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearRopeNorm<coda::bf16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearRopeNorm<coda::fp16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearRopeNorm<float>>;
