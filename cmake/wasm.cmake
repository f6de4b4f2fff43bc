# The simulator as WebAssembly, for the quiz page: share/shardsim/web/simulator.txt, in the build
# tree as when installed.
#
# It is part of a whole build, not of the target `shardsim`, which therefore needs no second compiler
# and no minutes more. Where the compiler, its libraries or Node.js are missing (tools/setup web
# installs them) there is no such file, and the page shows recorded evidence.
include(ExternalProject)
include(ProcessorCount)

set(SHARDSIM_HAS_WASM OFF)
find_program(SHARDSIM_WASM_CXX NAMES clang++-22 clang++-21 clang++-20 clang++-19)
find_path(SHARDSIM_WASM_LIBCXX c++/v1/vector PATHS /usr/include/wasm32-wasi NO_DEFAULT_PATH)
if(NOT SHARDSIM_WASM_CXX OR NOT SHARDSIM_WASM_LIBCXX OR NOT SHARDSIM_HAS_WEB)
  message(STATUS "No WebAssembly tools: the quiz page will show recorded evidence")
  return()
endif()
set(SHARDSIM_HAS_WASM ON)

set(wasm_build ${PROJECT_BINARY_DIR}/wasm)
set(SHARDSIM_WASM_MODULE ${wasm_build}/shardsim.wasm)
set(SHARDSIM_WASM_FILES ${PROJECT_BINARY_DIR}/wasm_files.json)
set(SHARDSIM_QUIZ_FILES ${PROJECT_BINARY_DIR}/quiz_files.json)
set(packed_module ${PROJECT_BINARY_DIR}/share/shardsim/web/simulator.txt)
ProcessorCount(cores)
if(cores EQUAL 0)
  set(cores 1)
endif()

ExternalProject_Add(wasm_program
  SOURCE_DIR ${PROJECT_SOURCE_DIR}/web/wasm
  BINARY_DIR ${wasm_build}
  PREFIX ${PROJECT_BINARY_DIR}/wasm_project
  CMAKE_GENERATOR Ninja
  CMAKE_ARGS -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/cmake/wasm-toolchain.cmake
             -DSHARDSIM_WASM_CXX=${SHARDSIM_WASM_CXX}
             -DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}
  # One after the other: with all jobs of both compilers at once memory may not suffice.
  DEPENDS shardsim
  BUILD_COMMAND ${CMAKE_COMMAND} --build <BINARY_DIR> -j ${cores}
  BUILD_ALWAYS ON
  BUILD_BYPRODUCTS ${SHARDSIM_WASM_MODULE}
  INSTALL_COMMAND "")

add_executable(pack_files web/wasm/pack_files.cpp)
target_link_libraries(pack_files PRIVATE shardsim_simcore)
function(shardsim_pack_files output)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE paths)
  add_custom_command(OUTPUT ${output}
    COMMAND pack_files ${PROJECT_SOURCE_DIR} ${ARGN} > ${output}
    DEPENDS pack_files ${paths} VERBATIM)
endfunction()

# All of them for the tests; those that the quiz can run for its page.
file(GLOB wasm_inputs CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  topologies/*.yaml topologies/gpus/*.yaml scenarios/*.yaml scenarios/*/*.yaml)
shardsim_pack_files(${SHARDSIM_WASM_FILES} ${wasm_inputs})
file(GLOB quiz_inputs CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  quiz/bank/*.yaml scenarios/quiz/*.yaml scenarios/quiz/networks/*.yaml)
list(APPEND quiz_inputs
  topologies/dgx-h100.yaml topologies/dgx-h200.yaml topologies/gpus/h200-sxm-141gb.yaml)
foreach(model mpt-1b mpt-3b llama-3-8b llama-2-13b llama-2-34b llama-3-70b)
  list(APPEND quiz_inputs scenarios/models/${model}.yaml)
endforeach()
shardsim_pack_files(${SHARDSIM_QUIZ_FILES} ${quiz_inputs})

file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/shardsim/web)
add_custom_command(OUTPUT ${packed_module}
  COMMAND ${NODE_PROGRAM} ${PROJECT_SOURCE_DIR}/web/pack_module.mjs
    ${SHARDSIM_WASM_MODULE} ${SHARDSIM_QUIZ_FILES} ${packed_module}
  DEPENDS ${SHARDSIM_WASM_MODULE} ${SHARDSIM_QUIZ_FILES}
    ${PROJECT_SOURCE_DIR}/web/pack_module.mjs wasm_program
  COMMENT "Packing the simulator for the quiz page" VERBATIM)
add_custom_target(wasm_module ALL DEPENDS ${packed_module} ${SHARDSIM_WASM_FILES})
if(SHARDSIM_INSTALL)
  install(FILES ${packed_module} DESTINATION share/shardsim/web COMPONENT program OPTIONAL)
endif()
