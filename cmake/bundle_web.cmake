# cmake -D NODE= -D NPM= -D SOURCE=web -D OUTPUT=report_pages.cpp -P bundle_web.cmake
#
# Downloads the libraries beside OUTPUT, unless those of this lock file are there, and bundles the
# pages. Whatever fails there is said, and OUTPUT has no pages.
cmake_path(GET OUTPUT PARENT_PATH folder)
file(MAKE_DIRECTORY ${folder})
set(stamp ${folder}/node_modules/.installed)
file(SHA256 ${SOURCE}/package-lock.json wanted)
set(installed "")
if(EXISTS ${stamp})
  file(READ ${stamp} installed)
endif()

function(give_up why)
  message("No viewer in this build: ${why}")
  configure_file(${CMAKE_CURRENT_LIST_DIR}/no_report_pages.cpp.in ${OUTPUT} COPYONLY)
  file(TOUCH ${OUTPUT})
endfunction()

if(NOT installed STREQUAL wanted)
  file(COPY ${SOURCE}/package.json ${SOURCE}/package-lock.json ${SOURCE}/.npmrc DESTINATION ${folder})
  execute_process(
    COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-timeout=30000
    WORKING_DIRECTORY ${folder}
    RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said TIMEOUT 180)
  if(failed)
    give_up("npm could not install the libraries of web/package-lock.json (${failed})\n${said}")
    return()
  endif()
  file(WRITE ${stamp} ${wanted})
endif()

execute_process(COMMAND ${NODE} ${SOURCE}/build.mjs ${OUTPUT} ${folder}/node_modules
  RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said TIMEOUT 180)
if(failed)
  give_up("web/build.mjs failed (${failed})\n${said}")
  return()
endif()
