# Run at every build: writes OUTPUT from TEMPLATE with VERSION and the state of the checkout, and
# leaves it alone, time stamp included, when nothing changed.
set(COMMIT unknown)
find_package(Git QUIET)
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --abbrev=12 --dirty --exclude=*
                  WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_VARIABLE described
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0)
    set(COMMIT ${described})
  endif()
endif()
configure_file(${TEMPLATE} ${OUTPUT} @ONLY)
