# What the library needs (OpenMP, Highway's headers, fmt) and what only the command, the tests and
# the benchmarks need. On Debian: scripts/setup.sh installs all of it.
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_path(CODA_HIGHWAY_INCLUDE_DIR hwy/highway.h REQUIRED)
find_package(fmt REQUIRED)
set(CODA_FMT fmt::fmt)

if(CODA_PORTABLE)
  set(CODA_FMT fmt::fmt-header-only)
  set(Boost_USE_STATIC_LIBS ON)
  add_link_options(-static-libstdc++)
endif()

if(CODA_TOOLS OR CODA_TESTS)
  find_package(Boost REQUIRED COMPONENTS context)  # the simulator's fibers
  find_package(nlohmann_json REQUIRED)
endif()
if(CODA_TOOLS)
  find_package(CLI11 REQUIRED)
endif()

# The OpenBLAS of Debian is built on gcc's OpenMP runtime; another compiler would bring a second
# runtime into the process, and both would spin on the same cores.
if(CODA_OPENBLAS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  find_library(CODA_OPENBLAS_LIBRARY openblas)
  find_path(CODA_OPENBLAS_INCLUDE_DIR NAMES cblas-openblas.h cblas.h)
endif()

if(CODA_TESTS)
  find_package(GTest REQUIRED)
  find_package(rapidcheck REQUIRED)
endif()
