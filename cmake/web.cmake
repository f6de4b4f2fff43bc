# The pages that `--report` fills in: bundled from web/ by Node.js and embedded in the program.
#
# The libraries are downloaded once a lock file; neither a missing npm nor a failed download stops
# the build, and then --report says that this build has no viewer.
find_program(NODE_PROGRAM NAMES node nodejs)
find_program(NPM_PROGRAM npm)
set(web_found OFF)
if(NODE_PROGRAM AND NPM_PROGRAM)
  execute_process(COMMAND ${NODE_PROGRAM} --version OUTPUT_VARIABLE node_version
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  string(REGEX REPLACE "^v" "" node_version "${node_version}")
  if(node_version VERSION_GREATER_EQUAL 18)
    set(web_found ON)
  else()
    message(STATUS "Node.js ${node_version} is too old for the viewer of reports: needs 18")
  endif()
endif()
option(SHARDSIM_BUILD_WEB "Bundle the pages of --report, where Node.js 18 and npm are found" ON)

set(web_pages ${PROJECT_BINARY_DIR}/web/report_pages.cpp)
if(SHARDSIM_BUILD_WEB AND web_found)
  set(SHARDSIM_HAS_WEB ON)
  file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/web/pages/* ${PROJECT_SOURCE_DIR}/web/quiz/*
    ${PROJECT_SOURCE_DIR}/web/wasm/*.mjs ${PROJECT_SOURCE_DIR}/web/parts/*
    ${PROJECT_SOURCE_DIR}/web/styles/* ${PROJECT_SOURCE_DIR}/web/words/*)
  add_custom_command(
    OUTPUT ${web_pages}
    COMMAND ${CMAKE_COMMAND}
      -D NODE=${NODE_PROGRAM} -D NPM=${NPM_PROGRAM}
      -D SOURCE=${PROJECT_SOURCE_DIR}/web -D OUTPUT=${web_pages}
      -P ${PROJECT_SOURCE_DIR}/cmake/bundle_web.cmake
    DEPENDS ${web_sources} ${PROJECT_SOURCE_DIR}/web/build.mjs ${PROJECT_SOURCE_DIR}/web/package.json
      ${PROJECT_SOURCE_DIR}/web/package-lock.json ${PROJECT_SOURCE_DIR}/web/.npmrc
      ${PROJECT_SOURCE_DIR}/cmake/bundle_web.cmake ${PROJECT_SOURCE_DIR}/cmake/no_report_pages.cpp.in
    COMMENT "Bundling the pages of reports"
    VERBATIM)
else()
  set(SHARDSIM_HAS_WEB OFF)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/no_report_pages.cpp.in ${web_pages} COPYONLY)
endif()
