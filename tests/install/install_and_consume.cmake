# Arguments: BUILD_DIR, SCRATCH, CONSUMER, GENERATOR, CXX, CXX_FLAGS; see CMakeLists.txt.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN}
    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "exit ${status}: ${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${SCRATCH})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${SCRATCH}/installed)

# What is installed must not depend on where it was put.
set(prefix ${SCRATCH}/moved)
file(RENAME ${SCRATCH}/installed ${prefix})

foreach(file bin/shardsim include/shardsim/simcore/time.hpp share/shardsim/topologies
             share/shardsim/scenarios share/doc/shardsim/LICENSE)
  if(NOT EXISTS ${prefix}/${file})
    message(FATAL_ERROR "not installed: ${file}")
  endif()
endforeach()

run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${SCRATCH}/build -G ${GENERATOR}
  -D CMAKE_CXX_COMPILER=${CXX} -D CMAKE_CXX_FLAGS=${CXX_FLAGS} -D CMAKE_PREFIX_PATH=${prefix})
run(${CMAKE_COMMAND} --build ${SCRATCH}/build)
run(${SCRATCH}/build/consumer)
message(STATUS "consumer: ${output}")

# The installed program must find the installed data: a scenario that names a topology and a model.
set(scenario ${prefix}/share/shardsim/scenarios/fsdp2-llama-2-7b-4xdgx-h100.yaml)
unset(ENV{SHARDSIM_DATA})
run(${CMAKE_COMMAND} -E chdir ${SCRATCH} ${prefix}/bin/shardsim run ${scenario})
file(REMOVE_RECURSE ${SCRATCH})
