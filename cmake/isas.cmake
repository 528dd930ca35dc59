# The instruction sets that CPU programs are compiled for, lowest first. The library and the
# programs linked with it agree on this list: it is part of the installed package.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(CODA_CPU_ISAS portable avx2 avx512 CACHE STRING
      "Instruction sets: portable, portable;avx2 or portable;avx2;avx512")
else()
  set(CODA_CPU_ISAS portable CACHE STRING "Instruction sets: portable" FORCE)
endif()

if(NOT CODA_CPU_ISAS MATCHES "^portable(;avx2(;avx512)?)?$")
  message(FATAL_ERROR "CODA_CPU_ISAS: expected portable, portable;avx2 or portable;avx2;avx512, "
                      "got ${CODA_CPU_ISAS}")
endif()
