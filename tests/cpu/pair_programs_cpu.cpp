#include "coda/cpu/instantiate.h"
#include "tests/cpu/pair_programs.h"

namespace coda::cpu {

template struct Epilogue<ColumnSegments>;
template struct Epilogue<RowSegments>;
template struct Epilogue<Gated>;
template struct Epilogue<Rotated>;
template struct Epilogue<RotatedSegments>;
template struct Epilogue<HeadNorm>;

}  // namespace coda::cpu
