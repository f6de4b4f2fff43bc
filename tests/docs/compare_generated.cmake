# Arguments: PROGRAM, ROOT, SCRATCH; see CMakeLists.txt.
# `shardsim schema --out DIR` writes DIR/docs/reference.md and DIR/scenarios/schema/*.json.
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND ${PROGRAM} schema --help
  RESULT_VARIABLE status OUTPUT_VARIABLE help ERROR_QUIET)
if(NOT status EQUAL 0 OR NOT help MATCHES "--out")
  message(STATUS "this program has no subcommand 'schema'")
  return()
endif()

file(REMOVE_RECURSE ${SCRATCH})
file(MAKE_DIRECTORY ${SCRATCH})
execute_process(COMMAND ${PROGRAM} schema --out ${SCRATCH}
  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "shardsim schema --out: exit ${status}\n${output}")
endif()

file(GLOB_RECURSE generated RELATIVE ${SCRATCH} ${SCRATCH}/*)
file(GLOB committed RELATIVE ${ROOT} ${ROOT}/scenarios/schema/*.json ${ROOT}/docs/reference.md)
if(NOT "docs/reference.md" IN_LIST generated OR NOT generated MATCHES "scenarios/schema/")
  message(FATAL_ERROR "shardsim schema --out wrote only: ${generated}")
endif()

set(stale "")
foreach(file IN LISTS generated committed)
  execute_process(COMMAND ${CMAKE_COMMAND} -E compare_files ${SCRATCH}/${file} ${ROOT}/${file}
    RESULT_VARIABLE differs OUTPUT_QUIET ERROR_QUIET)
  if(differs)
    list(APPEND stale ${file})
  endif()
endforeach()
list(REMOVE_DUPLICATES stale)
if(stale)
  list(JOIN stale "\n  " stale)
  message(FATAL_ERROR "out of date (run tools/update-docs):\n  ${stale}")
endif()
file(REMOVE_RECURSE ${SCRATCH})
