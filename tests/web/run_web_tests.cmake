# Copies the tests beside their libraries, which are downloaded once a lock file, and runs them.
file(GLOB sources ${SOURCE}/*.mjs ${SOURCE}/package*.json ${SOURCE}/.npmrc)
file(COPY ${sources} DESTINATION ${SCRATCH})
set(stamp ${SCRATCH}/node_modules/.installed)
file(SHA256 ${SOURCE}/package-lock.json wanted)
set(installed "")
if(EXISTS ${stamp})
  file(READ ${stamp} installed)
endif()
if(NOT installed STREQUAL wanted)
  execute_process(
    COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-timeout=30000
    WORKING_DIRECTORY ${SCRATCH}
    RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said TIMEOUT 180)
  if(failed)
    message("SKIPPED: npm could not install the libraries of tests/web/package-lock.json\n${said}")
    return()
  endif()
  file(WRITE ${stamp} ${wanted})
endif()
execute_process(COMMAND ${NODE} ${SCRATCH}/${TEST} ${PROGRAM} ${ROOT} ${SCRATCH}/pages
  RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "the tests of the web pages failed (${failed})")
endif()
