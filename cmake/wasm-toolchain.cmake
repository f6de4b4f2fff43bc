# Debian's clang with wasi-libc and libc++: WebAssembly without Emscripten.
set(CMAKE_SYSTEM_NAME WASI)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
find_program(SHARDSIM_WASM_CXX NAMES
  clang++-22 clang++-21 clang++-20 clang++-19 REQUIRED)
set(CMAKE_CXX_COMPILER ${SHARDSIM_WASM_CXX})
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasi)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
