// What NCCL chooses for an operation: algorithm, protocol, channels, threads, chunk; and the time
// it expects.
//
// Models: the pair of algorithm and protocol with the least predicted time of those that the
// machine, the version, the environment and the operation's type and reduction allow; ties go to
// the first in NCCL's order. Leaves out tuner plugins and buffers registered by users.
// Source: NVIDIA/nccl v2.18.3-1 to v2.30.7-1, src/enqueue.cc.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "models/cuda/program.hpp"
#include "models/gpu/kernel_work.hpp"
#include "models/nccl/choice_channels.hpp"
#include "models/nccl/environment.hpp"
#include "models/nccl/schedule.hpp"
#include "models/nccl/tuning_model.hpp"
#include "simcore/quantity.hpp"

namespace shardsim::nccl {

enum class Reduction : std::uint8_t {
  sum,
  product,
  minimum,
  maximum,
  average,
  scaled_sum,  ///< ncclRedOpCreatePreMulSum
};

struct Operation {
  Collective collective = Collective::all_reduce;
  /// The larger side of one rank: ranks x part for all-gather and reduce-scatter, else the buffer.
  simcore::Bytes bytes;
  gpu::DataType type = gpu::DataType::fp32;
  Reduction reduction = Reduction::sum;
};

struct Choice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int most_channels = 1;       ///< that the operation may use
  int channels = 1;            ///< that it uses if it runs alone
  int threads = 512;           ///< of each channel
  simcore::Bytes chunk_bytes;  ///< on its first channel, running alone
  double predicted_us = 0;     ///< NCCL's expectation
};

/// The collective of a program's operation; none for all-to-all and send-receive.
std::optional<Collective> collective_of(cuda::CollectiveKind kind);

/// NVLS kernels gather and scatter among 32 ranks of a node at most. The tuning model by itself
/// does not know that, and prefers them also in larger domains.
enum class KernelLimits : std::uint8_t { kept, ignored };

/// NCCL's choices for one communicator. Immutable.
class Selector {
 public:
  Selector(const TuningInputs& inputs, const Environment& environment,
           KernelLimits kernel_limits = KernelLimits::kept);

  /// The choice for an operation that is launched alone. The error names what leaves nothing.
  std::expected<Choice, std::string> choose(const Operation& operation) const;
  /// Without how it spreads over channels (`channels` and `chunk_bytes`); `pipelined` operations
  /// share a channel.
  std::expected<Choice, std::string> select(const Operation& operation, int pipelined) const;
  /// NCCL's expectation for a pair, in us; nothing if it is not available for the operation.
  std::optional<double> predicted_us(const Operation& operation, Algorithm algorithm,
                                     Protocol protocol, int pipelined = 1) const;

  const TuningInputs& inputs() const { return inputs_; }
  const TuningConstants& constants() const { return constants_; }
  const TuningTable& table() const { return table_; }
  const ScheduleInputs& schedule_inputs() const { return schedule_; }
  /// Most threads and, per thread and channel, least bytes for which NCCL takes all channels.
  std::int64_t thread_threshold_bytes(Algorithm algorithm, Protocol protocol) const {
    return thresholds_[algorithm][protocol];
  }
  /// Most channels, and threads, for a pair chosen for `bytes`.
  void set_channels_and_threads(std::int64_t bytes, Choice& choice) const;
  ScheduledOperation scheduled(const Operation& operation, const Choice& choice) const;

 private:
  bool usable(const Operation& operation, Algorithm algorithm) const;
  bool nvls_usable(const Operation& operation, Algorithm algorithm) const;
  double cell_us(const Operation& operation, Algorithm algorithm, Protocol protocol,
                 const TuningCell& cell, int pipelined) const;
  void find_least(const Operation& operation, int pipelined, bool fallback,
                  std::optional<Choice>& best) const;

  KernelLimits kernel_limits_;
  TuningInputs inputs_;
  TuningConstants constants_;
  TuningTable table_;
  ScheduleInputs schedule_;
  PerAlgorithm<PerProtocol<std::int64_t>> thresholds_;
};

}  // namespace shardsim::nccl
