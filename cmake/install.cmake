# The package: headers, libcoda.a, libcoda_model.a, libcoda.so, the coda command, and what find_package(coda) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(coda_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/coda)

install(TARGETS coda coda_shared EXPORT codaTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET coda_model)
  install(TARGETS coda_model EXPORT codaTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(CODA_TOOLS)
  install(TARGETS coda_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY coda DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.cuh" PATTERN "tools" EXCLUDE)
if(CODA_WGMMA)  # kernels that NVRTC compiles include it
  install(FILES ${CODA_WGMMA} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/coda/ptx)
endif()
install(EXPORT codaTargets NAMESPACE coda:: DESTINATION ${coda_package_dir})

configure_package_config_file(cmake/codaConfig.cmake.in codaConfig.cmake
                              INSTALL_DESTINATION ${coda_package_dir})
write_basic_package_version_file(codaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/codaConfig.cmake ${PROJECT_BINARY_DIR}/codaConfigVersion.cmake
              ${PROJECT_SOURCE_DIR}/cmake/coda_add_program.cmake
        DESTINATION ${coda_package_dir})
