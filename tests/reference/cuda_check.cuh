// Errors of CUDA as C++ exceptions, and memory that frees itself.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include <cuda_runtime.h>

namespace shardsim::reference {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    if (count_ > 0) check(cudaMalloc(&begin_, count_ * sizeof(T)), "cudaMalloc");
  }
  DeviceArray(DeviceArray&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(begin_); }

  T* begin() const { return begin_; }
  std::size_t size() const { return count_; }
  void zero() const {
    if (count_ > 0) check(cudaMemset(begin_, 0, count_ * sizeof(T)), "cudaMemset");
  }
  void from_host(const T* data) const {
    if (count_ == 0) return;
    check(cudaMemcpy(begin_, data, count_ * sizeof(T), cudaMemcpyHostToDevice), "copy to GPU");
  }
  void to_host(T* data) const {
    if (count_ == 0) return;
    check(cudaMemcpy(data, begin_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "copy from GPU");
  }

 private:
  T* begin_ = nullptr;
  std::size_t count_ = 0;
};

/// Events around work in a stream.
class Stopwatch {
 public:
  Stopwatch() {
    check(cudaEventCreate(&begin_), "cudaEventCreate");
    check(cudaEventCreate(&end_), "cudaEventCreate");
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  void start(cudaStream_t stream) { check(cudaEventRecord(begin_, stream), "cudaEventRecord"); }
  void stop(cudaStream_t stream) { check(cudaEventRecord(end_, stream), "cudaEventRecord"); }
  /// Waits for the end.
  double microseconds() const {
    check(cudaEventSynchronize(end_), "cudaEventSynchronize");
    float ms = 0;
    check(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
    return 1e3 * static_cast<double>(ms);
  }

 private:
  cudaEvent_t begin_{};
  cudaEvent_t end_{};
};

}  // namespace shardsim::reference
