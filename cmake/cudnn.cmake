# cuDNN, whose fused attention models on the GPU use: its headers and those of its frontend, which
# come as Python packages (scripts/setup.sh) or with PyTorch. The library itself is looked for at run
# time.
#   CODA_CUDNN                        AUTO, ON (a missing header is an error) or OFF
#   CODA_CUDNN_INCLUDE_DIR            that has cudnn.h
#   CODA_CUDNN_FRONTEND_INCLUDE_DIR   that has cudnn_frontend.h
#   CODA_NVRTC_INCLUDE_DIR            that has nvrtc.h, which the frontend includes
set(CODA_CUDNN AUTO CACHE STRING "Attention on the GPU by cuDNN: AUTO, ON or OFF")

set(CODA_HAS_CUDNN OFF)
if(CODA_HAS_CUDA AND NOT CODA_CUDNN STREQUAL "OFF")
  file(GLOB packages ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages)
  execute_process(COMMAND ${Python3_EXECUTABLE} -c "import site; print(*site.getsitepackages(), sep=';')"
                  OUTPUT_VARIABLE more_packages OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  list(APPEND packages ${more_packages})
  list(TRANSFORM packages APPEND /nvidia/cudnn/include OUTPUT_VARIABLE cudnn_folders)
  list(TRANSFORM packages APPEND /include OUTPUT_VARIABLE frontend_folders)
  list(TRANSFORM packages APPEND /nvidia/cu13/include OUTPUT_VARIABLE nvrtc_folders)
  find_path(CODA_CUDNN_INCLUDE_DIR cudnn.h HINTS ${cudnn_folders} ${CUDAToolkit_INCLUDE_DIRS})
  find_path(CODA_CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h HINTS ${frontend_folders})
  find_path(CODA_NVRTC_INCLUDE_DIR nvrtc.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${nvrtc_folders})
  if(CODA_CUDNN_INCLUDE_DIR AND CODA_CUDNN_FRONTEND_INCLUDE_DIR AND CODA_NVRTC_INCLUDE_DIR)
    set(CODA_HAS_CUDNN ON)
  elseif(CODA_CUDNN STREQUAL "ON")
    message(FATAL_ERROR "CODA_CUDNN=ON: expected cudnn.h (${CODA_CUDNN_INCLUDE_DIR}), cudnn_frontend.h "
                        "(${CODA_CUDNN_FRONTEND_INCLUDE_DIR}) and nvrtc.h (${CODA_NVRTC_INCLUDE_DIR}); "
                        "CODA_CUDNN=ON scripts/setup.sh installs them in .venv")
  endif()
endif()

# coda_use_cudnn(<target>): sources of it that are named cuda_* may include the frontend.
function(coda_use_cudnn target)
  target_compile_definitions(${target} PUBLIC CODA_HAS_CUDNN)
  # Symbols by dlsym; without JSON, which only saves graphs.
  target_compile_definitions(${target} PRIVATE
    NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING CUDNN_FRONTEND_SKIP_JSON_LIB
    CODA_CUDNN_LIBRARY_DIR="${CODA_CUDNN_INCLUDE_DIR}/../lib")
  target_include_directories(${target} SYSTEM PRIVATE
    ${CODA_CUDNN_INCLUDE_DIR} ${CODA_CUDNN_FRONTEND_INCLUDE_DIR} ${CODA_NVRTC_INCLUDE_DIR})
  # Nothing in them is worth the time; and once it inlines, gcc 12 warns about the frontend's vectors.
  set_source_files_properties(attention/cuda_cudnn.cpp attention/cuda_cudnn_graph.cpp
                              PROPERTIES COMPILE_OPTIONS -O1)
  target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
endfunction()
