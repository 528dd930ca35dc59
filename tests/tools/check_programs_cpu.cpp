#include "coda/cpu/instantiate.h"
#include "tests/tools/check_programs.h"

namespace coda::cpu {

using tools::Mistake;
using tools::ResidualNorm;
using tools::Swiglu;

template struct Epilogue<Swiglu<bf16, Mistake::kNone>>;
template struct Epilogue<Swiglu<bf16, Mistake::kSwapped>>;
template struct Epilogue<ResidualNorm<float, Mistake::kNone>>;
template struct Epilogue<ResidualNorm<float, Mistake::kNoResidual>>;
template struct Epilogue<ResidualNorm<float, Mistake::kNextColumn>>;
template struct Epilogue<ResidualNorm<bf16, Mistake::kRoundedSquares>>;
template struct Epilogue<ResidualNorm<float, Mistake::kPadding>>;
template struct Epilogue<ResidualNorm<float, Mistake::kBeyond>>;
template struct Epilogue<ResidualNorm<float, Mistake::kInaccurate>>;
template struct Epilogue<tools::Segmented>;
template struct Epilogue<tools::HeadNorm>;

}  // namespace coda::cpu
