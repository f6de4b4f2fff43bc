// reference_overlap [--layers N] [--tokens N] [--width N] [--iterations N] [--csv FILE]
//
// What overlapping collectives with GEMMs costs on this GPU, in two measurements:
//
//   loop          an FSDP-like loop: for each layer an all-gather of its weights, a GEMM by cuBLAS,
//                 and a reduce-scatter of its gradient, on a stream for computing and one for
//                 communicating; with prefetch the next all-gather is issued before the GEMM
//   interference  a GEMM beside a collective that holds k thread blocks, k = 0 ... 32: blocks that
//                 only hold their SM (spin), and blocks that also move data (copy)
//
// The collectives are copies by `blocks` thread blocks between shards of virtual ranks on this GPU.
// Gathered weights come from CUDA's stream-ordered allocator, whose high-water mark is the memory.
// Rows: measurement,variant,blocks,layers,m,n,k,time_us,peak_bytes,slowdown; comment lines name the
// card, driver, date and command. Exit status 3 without a GPU.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "tests/reference/cuda_check.cuh"

namespace shardsim::reference {
namespace {

using reference::check;

constexpr int virtual_ranks = 8;
constexpr int collective_threads = 512;
constexpr int most_blocks = 32;

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw std::runtime_error(std::string(what) + ": " + cublasGetStatusString(status));
  }
}

/// Copies `count` vectors of 16 bytes from shards that lie apart.
__global__ void gather(const uint4* shards, uint4* whole, std::int64_t count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < count; i += stride) whole[i] = shards[i];
}

/// Adds what `virtual_ranks` ranks have for one of them; bf16 pairs are added in float.
__global__ void scatter_sums(const __nv_bfloat162* gradient, __nv_bfloat162* shard,
                             std::int64_t count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i < count; i += stride) {
    float2 sum{0, 0};
    for (int rank = 0; rank < virtual_ranks; ++rank) {
      const float2 one = __bfloat1622float2(gradient[rank * count + i]);
      sum.x += one.x;
      sum.y += one.y;
    }
    shard[i] = __float22bfloat162_rn(sum);
  }
}

__device__ std::uint64_t global_ns() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// Holds its blocks until `stop` is set, or two seconds are over. Each block says at a place of its
/// own that it is there; with `count` above 0 it also copies, over and over.
__global__ void hold(volatile int* arrived, const volatile int* stop, const uint4* from, uint4* to,
                     std::int64_t count) {
  if (threadIdx.x == 0) arrived[blockIdx.x] = 1;
  const std::uint64_t begin = global_ns();
  __shared__ bool goes_on;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (;;) {
    if (threadIdx.x == 0) goes_on = *stop == 0 && global_ns() - begin < 2'000'000'000ULL;
    __syncthreads();
    const bool more = goes_on;
    __syncthreads();
    if (!more) return;
    std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i < count; i += stride) to[i] = from[i];
  }
}

struct Settings {
  int layers = 16;
  int tokens = 4096;
  int width = 4096;
  int iterations = 5;
  int blocks = 16;
  std::string csv;
};

class Stream {
 public:
  explicit Stream(bool urgent = false) {
    int least = 0;
    int most = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &most), "stream priorities");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, urgent ? most : least),
          "cudaStreamCreate");
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }
  cudaStream_t get() const { return stream_; }
  void wait_for(const Stream& other) const {
    cudaEvent_t event{};
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
    check(cudaEventRecord(event, other.get()), "cudaEventRecord");
    check(cudaStreamWaitEvent(stream_, event, 0), "cudaStreamWaitEvent");
    check(cudaEventDestroy(event), "cudaEventDestroy");
  }

 private:
  cudaStream_t stream_{};
};

/// C (m x n) = A (m x k) B (k x n), bf16 with sums in float, row-major.
class Gemm {
 public:
  explicit Gemm(const Stream& stream) {
    check(cublasCreate(&handle_), "cublasCreate");
    check(cublasSetStream(handle_, stream.get()), "cublasSetStream");
  }
  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;
  ~Gemm() { cublasDestroy(handle_); }

  void run(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n,
           int k) const {
    const float one = 1;
    const float zero = 0;
    check(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, CUDA_R_16BF, n, a,
                       CUDA_R_16BF, k, &zero, c, CUDA_R_16BF, n, CUBLAS_COMPUTE_32F,
                       CUBLAS_GEMM_DEFAULT),
          "cublasGemmEx");
  }

 private:
  cublasHandle_t handle_{};
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The FSDP-like loop.
class Loop {
 public:
  explicit Loop(const Settings& settings)
      : s_(settings),
        weights_(static_cast<std::size_t>(s_.layers) * weight_count()),
        gradients_(weight_count()),
        shards_(static_cast<std::size_t>(s_.layers) * weight_count() / virtual_ranks),
        activations_(2 * static_cast<std::size_t>(s_.tokens) * static_cast<std::size_t>(s_.width)),
        computing_(false),
        communicating_(true),
        gemm_(computing_) {
    weights_.zero();
    gradients_.zero();
    activations_.zero();
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    check(cudaDeviceGetDefaultMemPool(&pool_, device), "default pool");
    std::uint64_t keep = UINT64_MAX;  // what is freed stays with the pool
    check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep), "pool");
  }

  struct Result {
    double time_us = 0;
    std::uint64_t peak_bytes = 0;
  };

  Result measure(bool prefetch) {
    step(prefetch);
    check(cudaDeviceSynchronize(), "loop");
    std::uint64_t zero = 0;
    check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrUsedMemHigh, &zero), "pool");
    std::vector<double> times;
    for (int i = 0; i < s_.iterations; ++i) {
      Stopwatch watch;
      watch.start(computing_.get());
      step(prefetch);
      computing_.wait_for(communicating_);
      watch.stop(computing_.get());
      times.push_back(watch.microseconds());
    }
    Result result;
    result.time_us = median(times);
    check(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemHigh, &result.peak_bytes), "pool");
    return result;
  }

 private:
  std::size_t weight_count() const {
    return static_cast<std::size_t>(s_.width) * static_cast<std::size_t>(s_.width);
  }

  __nv_bfloat16* all_gather(int layer) const {
    __nv_bfloat16* whole = nullptr;
    const std::size_t bytes = weight_count() * sizeof(__nv_bfloat16);
    check(cudaMallocFromPoolAsync(reinterpret_cast<void**>(&whole), bytes, pool_,
                                  communicating_.get()),
          "cudaMallocFromPoolAsync");
    const __nv_bfloat16* const from =
        weights_.begin() + static_cast<std::size_t>(layer) * weight_count();
    gather<<<s_.blocks, collective_threads, 0, communicating_.get()>>>(
        reinterpret_cast<const uint4*>(from), reinterpret_cast<uint4*>(whole),
        static_cast<std::int64_t>(bytes / sizeof(uint4)));
    check(cudaGetLastError(), "gather");
    return whole;
  }

  void reduce_scatter(int layer) const {
    const std::size_t pairs = weight_count() / 2 / virtual_ranks;
    auto* const shard = reinterpret_cast<__nv_bfloat162*>(shards_.begin()) +
                        static_cast<std::size_t>(layer) * pairs;
    scatter_sums<<<s_.blocks, collective_threads, 0, communicating_.get()>>>(
        reinterpret_cast<const __nv_bfloat162*>(gradients_.begin()), shard,
        static_cast<std::int64_t>(pairs));
    check(cudaGetLastError(), "scatter_sums");
  }

  void step(bool prefetch) const {
    communicating_.wait_for(computing_);
    __nv_bfloat16* next = all_gather(0);
    for (int layer = 0; layer < s_.layers; ++layer) {
      __nv_bfloat16* const whole = next;
      computing_.wait_for(communicating_);
      const bool more = layer + 1 < s_.layers;
      if (prefetch && more) next = all_gather(layer + 1);
      __nv_bfloat16* const in = activations_.begin();
      __nv_bfloat16* const out =
          in + static_cast<std::size_t>(s_.tokens) * static_cast<std::size_t>(s_.width);
      gemm_.run(in, whole, out, s_.tokens, s_.width, s_.width);
      // The weights are freed once the GEMM is through, in the order of the other stream: as
      // FSDP's rate limiter has it, at most two layers are gathered.
      communicating_.wait_for(computing_);
      check(cudaFreeAsync(whole, communicating_.get()), "cudaFreeAsync");
      reduce_scatter(layer);
      if (!prefetch && more) next = all_gather(layer + 1);
    }
  }

  const Settings& s_;
  DeviceArray<__nv_bfloat16> weights_;
  DeviceArray<__nv_bfloat16> gradients_;
  DeviceArray<__nv_bfloat16> shards_;
  DeviceArray<__nv_bfloat16> activations_;
  Stream computing_;
  Stream communicating_;
  Gemm gemm_;
  cudaMemPool_t pool_{};
};

/// A GEMM beside blocks that are held.
class Interference {
 public:
  explicit Interference(const Settings& settings)
      : s_(settings),
        a_(static_cast<std::size_t>(s_.tokens) * static_cast<std::size_t>(s_.width)),
        b_(static_cast<std::size_t>(s_.width) * static_cast<std::size_t>(s_.width)),
        c_(a_.size()),
        from_(buffer_vectors),
        to_(buffer_vectors),
        computing_(false),
        holding_(true),
        gemm_(computing_) {
    a_.zero();
    b_.zero();
    from_.zero();
    check(cudaHostAlloc(reinterpret_cast<void**>(&flags_), (most_blocks + 1) * sizeof(int),
                        cudaHostAllocMapped),
          "cudaHostAlloc");
  }
  Interference(const Interference&) = delete;
  Interference& operator=(const Interference&) = delete;
  ~Interference() { cudaFreeHost(flags_); }

  double measure(int blocks, bool copies) {
    volatile int* const arrived = flags_;
    volatile int* const stop = flags_ + most_blocks;
    for (int i = 0; i <= most_blocks; ++i) flags_[i] = 0;
    if (blocks > 0) {
      hold<<<blocks, collective_threads, 0, holding_.get()>>>(
          flags_, flags_ + most_blocks, from_.begin(), to_.begin(), copies ? buffer_vectors : 0);
      check(cudaGetLastError(), "hold");
      for (int i = 0; i < blocks; ++i) {
        while (arrived[i] == 0) {
          const cudaError_t status = cudaStreamQuery(holding_.get());
          if (status != cudaErrorNotReady) check(status, "hold");
          std::this_thread::yield();
        }
      }
    }
    std::vector<double> times;
    for (int i = 0; i < s_.iterations + 2; ++i) {
      Stopwatch watch;
      watch.start(computing_.get());
      gemm_.run(a_.begin(), b_.begin(), c_.begin(), s_.tokens, s_.width, s_.width);
      watch.stop(computing_.get());
      const double us = watch.microseconds();
      if (i >= 2) times.push_back(us);
    }
    *stop = 1;
    check(cudaStreamSynchronize(holding_.get()), "hold");
    return median(times);
  }

 private:
  static constexpr std::size_t buffer_vectors = (std::size_t{64} << 20) / sizeof(uint4);

  const Settings& s_;
  DeviceArray<__nv_bfloat16> a_;
  DeviceArray<__nv_bfloat16> b_;
  DeviceArray<__nv_bfloat16> c_;
  DeviceArray<uint4> from_;
  DeviceArray<uint4> to_;
  Stream computing_;
  Stream holding_;
  Gemm gemm_;
  int* flags_ = nullptr;
};

bool parse(int argc, char** argv, Settings& settings) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const int value = std::atoi(argv[i + 1]);
    if (name == "--csv") {
      settings.csv = argv[i + 1];
      continue;
    }
    int* const place = name == "--layers"       ? &settings.layers
                       : name == "--tokens"     ? &settings.tokens
                       : name == "--width"      ? &settings.width
                       : name == "--iterations" ? &settings.iterations
                       : name == "--blocks"     ? &settings.blocks
                                                : nullptr;
    if (place == nullptr || value < 1) return false;
    *place = value;
  }
  // Shards are copied by 16 bytes.
  return argc % 2 == 1 && settings.width % 64 == 0;
}

void print_origin(std::FILE* out, int argc, char** argv) {
  cudaDeviceProp properties{};
  int driver = 0;
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  const std::time_t now = std::time(nullptr);
  char date[32];
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  std::fprintf(out, "# %s, CUDA driver %d.%d, %s\n#", properties.name, driver / 1000,
               driver % 1000 / 10, date);
  for (int i = 0; i < argc; ++i) std::fprintf(out, " %s", argv[i]);
  std::fprintf(out, "\nmeasurement,variant,blocks,layers,m,n,k,time_us,peak_bytes,slowdown\n");
}

void measure(const Settings& s, std::FILE* out) {
  double without = 0;
  for (const bool prefetch : {false, true}) {
    const Loop::Result result = Loop(s).measure(prefetch);
    if (!prefetch) without = result.time_us;
    std::fprintf(out, "loop,%s,%d,%d,%d,%d,%d,%.3f,%llu,%.4f\n",
                 prefetch ? "prefetch" : "no_prefetch", s.blocks, s.layers, s.tokens, s.width,
                 s.width, result.time_us, static_cast<unsigned long long>(result.peak_bytes),
                 result.time_us / without);
    std::fflush(out);
  }
  Interference interference(s);
  const double alone = interference.measure(0, false);
  for (const bool copies : {false, true}) {
    for (int blocks = 0; blocks <= most_blocks; ++blocks) {
      const double us = interference.measure(blocks, copies);
      std::fprintf(out, "interference,%s,%d,1,%d,%d,%d,%.3f,,%.4f\n", copies ? "copy" : "spin",
                   blocks, s.tokens, s.width, s.width, us, us / alone);
      std::fflush(out);
    }
  }
}

}  // namespace
}  // namespace shardsim::reference

int main(int argc, char** argv) {
  using namespace shardsim::reference;
  Settings settings;
  if (!parse(argc, argv, settings)) {
    std::fprintf(stderr,
                 "usage: %s [--layers N] [--tokens N] [--width N, of 64] [--iterations N]\n"
                 "       [--blocks N] [--csv FILE]\n",
                 argv[0]);
    return 2;
  }
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::fprintf(stderr, "%s: there is no GPU on this machine\n", argv[0]);
    return 3;
  }
  std::FILE* const out = settings.csv.empty() ? stdout : std::fopen(settings.csv.c_str(), "w");
  if (out == nullptr) {
    std::fprintf(stderr, "%s: cannot be written\n", settings.csv.c_str());
    return 2;
  }
  try {
    print_origin(out, argc, argv);
    measure(settings, out);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
    return 1;
  }
  return out == stdout || std::fclose(out) == 0 ? 0 : 2;
}
