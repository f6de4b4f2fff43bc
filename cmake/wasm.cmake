# The simulator as WebAssembly, for the quiz page, and the files that it reads there.
#
# Sets SHARDSIM_WASM_MODULE and SHARDSIM_WASM_FILES to the files that the target `wasm_module`
# makes; both are empty where the compiler or its libraries are missing (tools/setup web).
include(ExternalProject)

set(SHARDSIM_WASM_MODULE "")
set(SHARDSIM_WASM_FILES "")
find_program(SHARDSIM_WASM_CXX NAMES clang++-22 clang++-21 clang++-20 clang++-19)
find_path(SHARDSIM_WASM_LIBCXX c++/v1/vector PATHS /usr/include/wasm32-wasi NO_DEFAULT_PATH)
if(NOT SHARDSIM_WASM_CXX OR NOT SHARDSIM_WASM_LIBCXX)
  message(STATUS "No WebAssembly tools: the quiz page will show recorded evidence")
  return()
endif()

set(wasm_build ${PROJECT_BINARY_DIR}/wasm)
set(SHARDSIM_WASM_MODULE ${wasm_build}/shardsim.wasm)
set(SHARDSIM_WASM_FILES ${PROJECT_BINARY_DIR}/wasm_files.json)

ExternalProject_Add(wasm_program
  SOURCE_DIR ${PROJECT_SOURCE_DIR}/web/wasm
  BINARY_DIR ${wasm_build}
  PREFIX ${PROJECT_BINARY_DIR}/wasm_project
  CMAKE_ARGS -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/cmake/wasm-toolchain.cmake
             -DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}
  BUILD_ALWAYS ON
  BUILD_BYPRODUCTS ${SHARDSIM_WASM_MODULE}
  INSTALL_COMMAND "")

add_executable(pack_files web/wasm/pack_files.cpp)
target_link_libraries(pack_files PRIVATE shardsim_simcore)
file(GLOB wasm_inputs CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  topologies/*.yaml topologies/gpus/*.yaml scenarios/*.yaml scenarios/*/*.yaml)
list(TRANSFORM wasm_inputs PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE wasm_input_paths)
add_custom_command(OUTPUT ${SHARDSIM_WASM_FILES}
  COMMAND pack_files ${PROJECT_SOURCE_DIR} ${wasm_inputs} > ${SHARDSIM_WASM_FILES}
  DEPENDS pack_files ${wasm_input_paths}
  COMMENT "Packing the files of the quiz page" VERBATIM)
add_custom_target(wasm_module DEPENDS ${SHARDSIM_WASM_FILES})
add_dependencies(wasm_module wasm_program)
