#include "coda/cpu/instantiate.h"
#include "tests/cpu/programs.h"

template struct coda::cpu::Epilogue<coda::cpu::Reduced>;
