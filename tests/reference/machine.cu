// reference_machine > machine.json
//
// What a GPU of this machine reaches: products of bf16 matrices by cuBLAS over a sweep of shapes,
// copies in its memory, and the launch of a kernel. tools/measure-machine runs it and turns the
// JSON into a GPU file. Times are medians. Exit status 3 without a GPU.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <exception>
#include <string>
#include <vector>

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "tests/reference/cuda_check.cuh"

namespace shardsim::reference {
namespace {

using reference::check;

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error(std::string(what) + ": " + cublasGetStatusString(status));
  }
}

__global__ void nothing() {}

/// Values that look random: products of zeros draw less power and run at higher clocks.
__global__ void fill(__nv_bfloat16* to, std::int64_t count, unsigned seed) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < count; i += stride) {
    unsigned x = static_cast<unsigned>(i) * 2654435761U + seed;
    x ^= x >> 16;
    x *= 2246822519U;
    x ^= x >> 13;
    to[i] = __float2bfloat16(static_cast<float>(x & 0xffffU) / 32768.0F - 1.0F);
  }
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Median over `samples` of the time of one of `each` calls, us.
template <class Work>
double time_us(const Work& work, int samples, int each) {
  for (int i = 0; i < 3; ++i) work();
  std::vector<double> times;
  for (int sample = 0; sample < samples; ++sample) {
    Stopwatch watch;
    watch.start(nullptr);
    for (int i = 0; i < each; ++i) work();
    watch.stop(nullptr);
    times.push_back(watch.microseconds() / each);
  }
  return median(times);
}

void print_device() {
  cudaDeviceProp p{};
  int driver = 0;
  int runtime = 0;
  check(cudaGetDeviceProperties(&p, 0), "cudaGetDeviceProperties");
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  const std::time_t now = std::time(nullptr);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  std::printf(
      " \"device\": {\"name\": \"%s\", \"compute_capability\": \"%d.%d\", \"sms\": %d,\n"
      "  \"memory_bytes\": %llu, \"l2_bytes\": %d, \"driver\": \"%d.%d\", \"cuda\": \"%d.%d\",\n"
      "  \"date\": \"%s\"},\n",
      p.name, p.major, p.minor, p.multiProcessorCount,
      static_cast<unsigned long long>(p.totalGlobalMem), p.l2CacheSize, driver / 1000,
      driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10, date);
}

struct Shape {
  int m;
  int n;
  int k;
};

void print_gemms() {
  // Small ones show the fixed time, thin ones memory, large ones the rate that is sustained.
  const std::vector<Shape> shapes{
      {128, 128, 128},     {256, 256, 256},     {512, 512, 512},     {1024, 1024, 1024},
      {2048, 2048, 2048},  {4096, 4096, 4096},  {8192, 8192, 8192},  {16384, 4096, 4096},
      {4096, 16384, 4096}, {4096, 4096, 16384}, {8192, 28672, 8192}, {16, 8192, 8192},
      {64, 8192, 8192},    {8192, 1024, 8192},  {4096, 11008, 4096}, {4096, 4096, 11008}};
  std::size_t most = 0;
  for (const Shape& s : shapes) {
    const auto area = [](int a, int b) {
      return static_cast<std::size_t>(a) * static_cast<std::size_t>(b);
    };
    most = std::max({most, area(s.m, s.k), area(s.k, s.n), area(s.m, s.n)});
  }
  const DeviceArray<__nv_bfloat16> a(most);
  const DeviceArray<__nv_bfloat16> b(most);
  const DeviceArray<__nv_bfloat16> c(most);
  fill<<<1024, 256>>>(a.begin(), static_cast<std::int64_t>(most), 1);
  fill<<<1024, 256>>>(b.begin(), static_cast<std::int64_t>(most), 2);
  check(cudaGetLastError(), "fill");
  cublasHandle_t handle{};
  check(cublasCreate(&handle), "cublasCreate");
  const float one = 1;
  const float zero = 0;
  std::printf(" \"gemm\": [");
  const char* separator = "\n";
  for (const Shape& s : shapes) {
    const auto run = [&] {
      check(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, s.n, s.m, s.k, &one, b.begin(),
                         CUDA_R_16BF, s.n, a.begin(), CUDA_R_16BF, s.k, &zero, c.begin(),
                         CUDA_R_16BF, s.n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
            "cublasGemmEx");
    };
    const double flops = 2.0 * s.m * s.n * s.k;
    const int each = flops > 1e12 ? 2 : flops > 1e10 ? 20 : 200;
    std::printf("%s  {\"type\": \"bf16\", \"m\": %d, \"n\": %d, \"k\": %d, \"time_us\": %.3f}",
                separator, s.m, s.n, s.k, time_us(run, 9, each));
    separator = ",\n";
  }
  std::printf("],\n");
  check(cublasDestroy(handle), "cublasDestroy");
}

void print_copies() {
  constexpr std::size_t most = std::size_t{1} << 30;
  const DeviceArray<std::byte> from(most);
  const DeviceArray<std::byte> to(most);
  from.zero();
  std::printf(" \"copy\": [");
  const char* separator = "\n";
  for (std::size_t bytes = std::size_t{1} << 20; bytes <= most; bytes *= 4) {
    const auto run = [&] {
      check(cudaMemcpyAsync(to.begin(), from.begin(), bytes, cudaMemcpyDeviceToDevice), "copy");
    };
    std::printf("%s  {\"bytes\": %zu, \"time_us\": %.3f}", separator, bytes, time_us(run, 9, 20));
    separator = ",\n";
  }
  std::printf("],\n");
}

void print_launches() {
  constexpr int count = 2000;
  std::vector<double> cpu;
  for (int sample = 0; sample < 9; ++sample) {
    check(cudaDeviceSynchronize(), "launches");
    const auto begin = std::chrono::steady_clock::now();
    // Few enough that the queue does not fill up and make the CPU wait.
    for (int i = 0; i < 500; ++i) nothing<<<1, 32>>>();
    const auto end = std::chrono::steady_clock::now();
    cpu.push_back(std::chrono::duration<double, std::micro>(end - begin).count() / 500);
  }
  const double gap = time_us([] { nothing<<<1, 32>>>(); }, 9, count);
  check(cudaGetLastError(), "launches");
  std::printf(" \"launch\": {\"cpu_us\": %.3f, \"gap_us\": %.3f}\n", median(cpu), gap);
}

}  // namespace
}  // namespace shardsim::reference

int main(int, char** argv) {
  using namespace shardsim::reference;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::fprintf(stderr, "%s: there is no GPU on this machine\n", argv[0]);
    return 3;
  }
  try {
    std::printf("{\"schema\": \"shardsim.machine/1\",\n");
    print_device();
    print_gemms();
    print_copies();
    print_launches();
    std::printf("}\n");
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
    return 1;
  }
  return 0;
}
