// What lets one source be compiled for CPU threads and for CUDA: nvcc compiles it for the device,
// the C++ compiler for the host.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define REFERENCE_HD __device__ inline
#else
#define REFERENCE_HD inline
#endif

namespace shardsim::reference {

template <class T>
REFERENCE_HD T least_of(T a, T b) {
  return a < b ? a : b;
}
template <class T>
REFERENCE_HD T most_of(T a, T b) {
  return a < b ? b : a;
}
REFERENCE_HD std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace shardsim::reference
