# coda_add_program(<target> <source>...)
#
# Compiles the sources, which instantiate programs for the CPU, once per instruction set in
# CODA_CPU_ISAS and adds the objects to <target>; at run time the best one the CPU has is taken.
# Link <target> with coda::coda; its include directories, definitions and options are used.
#
# Such sources must define no inline function and no variable with a dynamic initialiser outside
# the per-instruction-set namespaces and templates: the linker could keep the AVX-512 copy of an
# inline function for everybody.

# Contraction is off because results must not depend on where a compiler finds a multiply-add.
# Without a build type and for Debug such code is optimised all the same: at -O0 functions on vectors
# are not inlined, and the linker would take one instruction set's for all of them.
set(CODA_ISA_portable -ffp-contract=off)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  list(APPEND CODA_ISA_portable -mssse3)
endif()
set(CODA_ISA_avx2 ${CODA_ISA_portable} -mavx2 -mfma -mf16c -mbmi -mbmi2 -mlzcnt -mpopcnt -maes
                  -mpclmul)
set(CODA_ISA_avx512 ${CODA_ISA_avx2} -mavx512f -mavx512cd -mavx512bw -mavx512dq -mavx512vl)
# In the cache, as a project that has coda as a subdirectory calls the functions below in its own
# scope.
foreach(isa portable avx2 avx512)
  set(CODA_FLAGS_${isa} ${CODA_ISA_${isa}} $<$<OR:$<CONFIG:>,$<CONFIG:Debug>>:-O3>
      CACHE INTERNAL "")
endforeach()
# gcc 12 takes the deliberately undefined registers in its own AVX-512 headers for mistakes.
set(CODA_FLAGS_avx512 ${CODA_FLAGS_avx512} $<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized>
                      $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> CACHE INTERNAL "")
set(CODA_FLAGS_avx512bf16 ${CODA_FLAGS_avx512} -mavx512bf16 CACHE INTERNAL "")

# The object library <target>_<isa>, made of the sources and compiled like those of <target>.
function(coda_isa_objects target isa)
  set(objects ${target}_${isa})
  if(TARGET ${objects})
    target_sources(${objects} PRIVATE ${ARGN})
    return()
  endif()
  add_library(${objects} OBJECT ${ARGN})
  set_target_properties(${objects} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${objects} PRIVATE cxx_std_20)
  target_include_directories(${objects} PRIVATE
                             $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
  target_compile_definitions(${objects} PRIVATE
                             $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
  target_compile_options(${objects} PRIVATE $<TARGET_PROPERTY:${target},COMPILE_OPTIONS>
                                            -Wno-psabi ${CODA_FLAGS_${isa}})
  target_link_libraries(${objects} PRIVATE $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
endfunction()

function(coda_add_program target)
  foreach(isa IN LISTS CODA_CPU_ISAS)
    set(existed FALSE)
    if(TARGET ${target}_${isa})
      set(existed TRUE)
    endif()
    coda_isa_objects(${target} ${isa} ${ARGN})
    if(NOT existed)
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${isa}>)
    endif()
  endforeach()
endfunction()
