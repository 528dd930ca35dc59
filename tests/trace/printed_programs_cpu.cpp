#include "coda/cpu/instantiate.h"
#include "tests/trace/printed_head_programs.h"
#include "tests/trace/printed_programs.h"

namespace coda::cpu {

template struct Epilogue<Random3>;
template struct Epilogue<Random10>;
template struct Epilogue<Random26>;
template struct Epilogue<Random30>;
template struct Epilogue<Random56>;
template struct Epilogue<Random41>;
template struct Epilogue<Random51>;
template struct Epilogue<Random55>;
template struct Epilogue<Random58>;
template struct Epilogue<Random119>;

}  // namespace coda::cpu
