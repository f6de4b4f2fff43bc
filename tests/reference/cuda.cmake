# The CUDA programs: built where nvcc is found, for three generations of GPUs, warnings as errors.
option(SHARDSIM_BUILD_CUDA "Build the CUDA reference programs where nvcc is found" ON)
set(SHARDSIM_CUDA_ARCHITECTURES 80 90 100 CACHE STRING "GPUs that CUDA programs are compiled for")

include(CheckLanguage)
if(SHARDSIM_BUILD_CUDA)
  check_language(CUDA)
endif()
if(NOT SHARDSIM_BUILD_CUDA)
  message(STATUS "CUDA reference programs: off (SHARDSIM_BUILD_CUDA)")
  return()
elseif(NOT CMAKE_CUDA_COMPILER)
  message(STATUS "CUDA reference programs: NOT BUILT, nvcc was not found")
  # So that the summary of the tests says so as well.
  add_test(NAME reference.cuda_not_built COMMAND ${CMAKE_COMMAND} -E echo
    "NOT BUILT: nvcc was not found, so that no CUDA source was compiled")
  set_tests_properties(reference.cuda_not_built PROPERTIES LABELS reference
    SKIP_REGULAR_EXPRESSION "NOT BUILT")
  return()
endif()
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES ${SHARDSIM_CUDA_ARCHITECTURES})
endif()
if(CCACHE_PROGRAM AND NOT CMAKE_CUDA_COMPILER_LAUNCHER)
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()
enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
message(STATUS "CUDA reference programs: nvcc ${CMAKE_CUDA_COMPILER_VERSION}, "
               "for sm_${CMAKE_CUDA_ARCHITECTURES}")

add_custom_target(reference_cuda)

# What CUDA sources are compiled with: C++17, the newest that CMake 3.25 can ask CUDA 13 for. The
# flags of the rooms are the C++ compiler's alone: host code comes in as objects and libraries.
function(shardsim_cuda_target target)
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES "${SHARDSIM_CUDA_ARCHITECTURES}"
    CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:--Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Werror>")
  add_dependencies(reference_cuda ${target})
endfunction()

add_library(reference_device OBJECT virtual_ranks_kernel.cu)
shardsim_cuda_target(reference_device)
add_executable(reference_virtual_ranks virtual_ranks.cpp $<TARGET_OBJECTS:reference_device>)
target_link_libraries(reference_virtual_ranks PRIVATE shardsim_reference fmt::fmt CUDA::cudart)
add_dependencies(reference_cuda reference_virtual_ranks)

add_executable(reference_overlap overlap.cu)
add_executable(reference_machine machine.cu)
foreach(program reference_overlap reference_machine)
  shardsim_cuda_target(${program})
  target_link_libraries(${program} PRIVATE CUDA::cudart CUDA::cublas)
endforeach()

find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(NCCL_LIBRARY nccl HINTS ${CUDAToolkit_LIBRARY_DIR} ${CUDAToolkit_LIBRARY_ROOT}/lib)
if(NCCL_INCLUDE_DIR AND NCCL_LIBRARY)
  add_executable(reference_nccl nccl_collectives.cu)
  shardsim_cuda_target(reference_nccl)
  target_include_directories(reference_nccl SYSTEM PRIVATE ${NCCL_INCLUDE_DIR})
  target_link_libraries(reference_nccl PRIVATE CUDA::cudart ${NCCL_LIBRARY})
else()
  message(STATUS "NCCL reference program: NOT BUILT, nccl.h or libnccl was not found")
endif()

# All checks on a GPU; skipped, and shown as such, where there is none.
add_test(NAME reference.gpu
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/run-gpu --quick --build ${PROJECT_BINARY_DIR}
    ${CMAKE_CURRENT_BINARY_DIR}/gpu_test)
set_tests_properties(reference.gpu PROPERTIES LABELS reference SKIP_RETURN_CODE 3)
