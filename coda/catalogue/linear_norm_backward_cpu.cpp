#include "coda/catalogue/linear_norm_backward.h"
#include "coda/cpu/instantiate.h"

template struct coda::cpu::Epilogue<coda::catalogue::LinearNormBackward<coda::bf16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearNormBackward<float>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearNormBackward<coda::bf16, float>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearNormBackwardFolded<coda::bf16>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearNormBackwardFolded<float>>;
template struct coda::cpu::Epilogue<coda::catalogue::LinearNormBackwardFolded<coda::bf16, float>>;
