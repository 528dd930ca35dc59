#include "coda/cpu/instantiate.h"
#include "tests/cpu/programs.h"

namespace coda::cpu {

template struct Epilogue<Product<float>>;
template struct Epilogue<Product<bf16>>;
template struct Epilogue<Product<fp16>>;
template struct Epilogue<Scaled<float>>;
template struct Epilogue<Scaled<bf16>>;
template struct Epilogue<EveryInput>;
template struct Epilogue<WithOptional>;
template struct Epilogue<Targets>;

}  // namespace coda::cpu
