// One collective alone on a cluster, repeated as nccl-tests does.
//
// Models: iterations are queued back to back, so that one takes its kernel's time or, if that is
// longer, the time that CPU threads take to launch it: a thread that drives several GPUs launches
// to one after the other. Fidelity `model` is NCCL's own expectation instead. One GPU alone copies
// its data, or in place does nothing. Assumes that all ranks start together. Leaves out in-place
// operation of several, which takes the same time but for a copy.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/cuda/program.hpp"
#include "models/gpu/kernel_work.hpp"
#include "models/nccl/nccl_model.hpp"
#include "models/scenario/checks/check_log.hpp"
#include "models/scenario/collective_cluster.hpp"

namespace shardsim::scenario {

/// Who launches the kernels of a node's GPUs.
enum class LaunchMode : std::uint8_t {
  mpi,      ///< a process for each GPU
  threads,  ///< a thread for each GPU
  process,  ///< one thread for all
};

/// How the time is found.
enum class CollectiveFidelity : std::uint8_t {
  model,  ///< NCCL's own expectation of the choice
  flow,   ///< the choice's data path, as a flow on the links
  chunk,  ///< the choice's data path, message by message
};

struct CollectiveSettings {
  cuda::CollectiveKind kind = cuda::CollectiveKind::all_reduce;
  gpu::DataType type = gpu::DataType::fp32;
  LaunchMode launch = LaunchMode::mpi;
  CollectiveFidelity fidelity = CollectiveFidelity::flow;
};

struct CollectiveRow {
  std::int64_t bytes = 0;     ///< the larger side of a rank
  std::int64_t elements = 0;  ///< of a rank's own part
  double time_us = 0;
  double in_place_us = 0;
  double algbw = 0;  ///< GB/s
  double busbw = 0;  ///< GB/s
  std::string algorithm;
  std::string protocol;
  int channels = 0;
  int threads = 0;
  std::int64_t chunk_bytes = 0;
};

class CollectiveRun {
 public:
  /// The cluster must outlive the run. The error says which ranks cannot reach each other.
  static std::expected<CollectiveRun, std::string> make(const CollectiveCluster& cluster);

  /// Nothing if the size is less than an element for each rank. The error says what NCCL lacks.
  std::expected<std::optional<CollectiveRow>, std::string> run(const CollectiveSettings& settings,
                                                               std::int64_t bytes);
  /// Every message of the collective at chunk level. The error says why there is none.
  std::expected<void, std::string> trace(const CollectiveSettings& settings, std::int64_t bytes,
                                         const nccl::TraceVisitor& visit);
  /// What the kernels are told. The error says why there is nothing.
  std::expected<nccl::ChunkWork, std::string> work(const CollectiveSettings& settings,
                                                   std::int64_t bytes);
  const std::set<std::string>& notes() const { return model_.notes(); }

  /// Messages simulated one by one so far, at chunk level.
  std::uint64_t messages() const { return messages_; }
  /// Holds a row of run() to its invariants: at fidelity `flow` the collective is run as a flow on
  /// its links, at `chunk` every message is looked at; NCCL's own expectation has none. Returns
  /// the events or messages looked at. Leaves collectives of more than `most_checked` messages out;
  /// the error says so.
  static constexpr std::int64_t most_checked = 1'000'000;
  std::expected<std::uint64_t, std::string> check(const CollectiveSettings& settings,
                                                  const CollectiveRow& row, CheckLog& log);

 private:
  CollectiveRun(const CollectiveCluster& cluster, nccl::CommunicatorPlan plan);
  std::expected<double, std::string> kernel_us(const cuda::CollectiveSpec& spec,
                                               const CollectiveSettings& settings,
                                               CollectiveRow& row);
  std::expected<double, std::string> copy_us(std::int64_t bytes) const;
  double launch_us(const CollectiveSettings& settings) const;
  std::expected<std::uint64_t, std::string> check_messages(const CollectiveSettings& settings,
                                                           const CollectiveRow& row,
                                                           const std::string& where, CheckLog& log);
  std::uint64_t check_flow(const cuda::CollectiveSpec& spec, const std::string& where,
                           CheckLog& log);

  const CollectiveCluster* cluster_;
  nccl::NcclModel model_;
  nccl::CommunicatorPlan plan_;
  std::uint64_t messages_ = 0;
};

}  // namespace shardsim::scenario
