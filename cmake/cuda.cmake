# The GPU side, compiled where nvcc is found.
#   CODA_CUDA      AUTO, ON (no nvcc is an error) or OFF
#   CODA_KERNELS   one: the first kernel of every program, to see that it compiles; all: the library
set(CODA_CUDA AUTO CACHE STRING "Kernels for Hopper: AUTO, ON or OFF")
set(CODA_KERNELS one CACHE STRING "Which kernels: one (the first of each program) or all")
if(NOT CODA_KERNELS MATCHES "^(one|all)$")
  message(FATAL_ERROR "CODA_KERNELS: expected one or all, got ${CODA_KERNELS}")
endif()

# `pip install` compiles all kernels only for a machine that can run them, or when told to.
if(SKBUILD AND CODA_CUDA STREQUAL "AUTO" AND NOT EXISTS /dev/nvidiactl)
  set(CODA_CUDA OFF)
endif()

set(CODA_HAS_CUDA OFF)
if(NOT CODA_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_ARCHITECTURES 90a-real)
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake before 3.25.2 does not know it
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    find_package(CUDAToolkit REQUIRED)
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8)
      set(CODA_HAS_CUDA ON)
    endif()
  endif()
  if(CODA_CUDA STREQUAL "ON" AND NOT CODA_HAS_CUDA)
    message(FATAL_ERROR "CODA_CUDA=ON: expected nvcc 12.8 or later in PATH")
  endif()
endif()

# The wgmma instructions as C++, for nvcc and for NVRTC, which compiles kernels at run time.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
  set(CODA_WGMMA ${PROJECT_BINARY_DIR}/generated/coda/ptx/wgmma_instruction.cuh)
  set(script ${PROJECT_SOURCE_DIR}/scripts/generate_wgmma.py)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated/coda/ptx)
  add_custom_command(OUTPUT ${CODA_WGMMA} COMMAND Python3::Interpreter ${script} ${CODA_WGMMA}
                     DEPENDS ${script} COMMENT "Writing the wgmma instructions")
  add_custom_target(coda_wgmma ALL DEPENDS ${CODA_WGMMA})
endif()

# coda_add_kernels(<target> <source.cu>...): kernels, compiled apart from <target>, whose warnings
# are not nvcc's, and added to it. scripts/check_ptxas.py fails the build on spills, local memory
# and serialised wgmma.
function(coda_add_kernels target)
  set(generated ${PROJECT_BINARY_DIR}/generated)
  set(objects ${target}_kernels)
  add_library(${objects} OBJECT ${ARGN})
  add_dependencies(${objects} coda_wgmma)
  set_target_properties(${objects} PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    CUDA_VISIBILITY_PRESET hidden
    CUDA_COMPILER_LAUNCHER "${Python3_EXECUTABLE};${PROJECT_SOURCE_DIR}/scripts/check_ptxas.py")
  target_include_directories(${objects} PRIVATE ${PROJECT_SOURCE_DIR} ${generated})
  target_compile_options(${objects} PRIVATE --expt-relaxed-constexpr -diag-suppress=177 -O3
                                            -Xptxas=-v)
  if(CODA_KERNELS STREQUAL "one")
    target_compile_definitions(${objects} PRIVATE CODA_ONE_KERNEL)
  endif()
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
endfunction()
