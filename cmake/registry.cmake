# coda_write_registry(<file>): the list of operations. An operation is a stem in coda/catalogue
# that has <stem>.cpp (operation) and <stem>_reference.h (fp64 formula).
function(coda_write_registry file)
  file(GLOB references CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/catalogue
       catalogue/*_reference.h)
  set(CODA_OPERATION_COUNT 0)
  foreach(reference IN LISTS references)
    string(REGEX REPLACE "_reference\\.h$" "" stem ${reference})
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/catalogue/${stem}.cpp)
      string(APPEND CODA_OPERATION_DECLARATIONS "const Operation& ${stem}_operation();\n")
      list(APPEND pointers "&${stem}_operation()")
      math(EXPR CODA_OPERATION_COUNT "${CODA_OPERATION_COUNT} + 1")
    endif()
  endforeach()
  list(JOIN pointers ", " CODA_OPERATION_POINTERS)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/registry.cpp.in ${file} @ONLY)
endfunction()
