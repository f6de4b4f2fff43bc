#include "models/scenario/collective_run.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "models/gpu/kernel_model.hpp"
#include "models/scenario/step_analysis.hpp"

namespace shardsim::scenario {

using cuda::CollectiveKind;

namespace {

// CPU time of one ncclAllReduce and its kernel launch, in a loop. One thread that drives 8 A100
// repeats a small all-reduce every 34.6 us, with 4 H100 every 23.3 us, with 12 V100 every 60.7 us
// (microsoft/superbenchmark; waynehacking8/nccl-collectives-bench; wohlbier/nccl-tests).
constexpr double launch_us_per_gpu = 4.8;
// Each send and receive of a group adds to it: all-to-all on 8 A100 every 87 us (superbenchmark).
constexpr double launch_us_per_message = 0.38;

/// A kernel of more than 11 days counts as 11 days.
constexpr std::int64_t most_copied = std::int64_t{1} << 59;

/// As for a run (Simulation): sums of times stay exact below it.
constexpr double latest_us = 4e12;

bool has_part_per_rank(CollectiveKind kind) {
  return kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter ||
         kind == CollectiveKind::alltoall;
}

nccl::CommunicatorSpec world(int ranks) {
  nccl::CommunicatorSpec spec;
  spec.role = "world";
  spec.members = 1;
  spec.groups.emplace_back();
  for (int rank = 0; rank < ranks; ++rank) spec.groups.front().push_back(rank);
  return spec;
}

const network::NicSpec* nics_of(const network::TopologySpec& spec) {
  return spec.node.nics ? &*spec.node.nics : nullptr;
}

/// What the flow takes where nothing else uses the links.
double alone_us(const nccl::CollectiveTiming& timing) {
  double us = timing.latency.microseconds();
  if (timing.traffic == nullptr || timing.flow_bytes <= 0) return us;
  double rate = timing.traffic->rate.bytes_per_second;
  if (timing.cap.bytes_per_second > 0) rate = std::min(rate, timing.cap.bytes_per_second);
  return rate > 0 ? us + timing.flow_bytes / rate * 1e6 : us;
}

}  // namespace

CollectiveRun::CollectiveRun(const CollectiveCluster& cluster, nccl::CommunicatorPlan plan)
    : cluster_(&cluster),
      model_(*cluster.planner,
             nccl::timing_constants(cluster.compute_capability, nics_of(cluster.spec)),
             nccl::nccl_ring_tuning(cluster.hardware)),
      plan_(std::move(plan)) {}

std::expected<CollectiveRun, std::string> CollectiveRun::make(const CollectiveCluster& cluster) {
  auto plan = nccl::CommunicatorPlan::make(cluster.graph, world(cluster.ranks()));
  if (!plan) {
    return std::unexpected(fmt::format("no route from rank {} to rank {}", plan.error().from_rank,
                                       plan.error().to_rank));
  }
  return CollectiveRun(cluster, std::move(*plan));
}

/// NCCL has a single rank's data copied within its memory; how fast that is an NCCL file does not
/// tell, and nothing is counted.
std::expected<double, std::string> CollectiveRun::copy_us(std::int64_t bytes) const {
  if (!cluster_->gpu) return 0;
  if (bytes > most_copied) return std::unexpected("the copy takes more than 11 days");
  const gpu::MemoryBoundWork copy{gpu::MemoryBoundKind::stream, simcore::Bytes{2 * bytes}};
  return gpu::KernelModel(*cluster_->gpu).time(copy).duration.microseconds();
}

double CollectiveRun::launch_us(const CollectiveSettings& settings) const {
  const double driven = settings.launch == LaunchMode::process
                            ? static_cast<double>(cluster_->ranks()) / cluster_->nodes()
                            : 1;
  const double messages = settings.kind == CollectiveKind::alltoall   ? 2.0 * cluster_->ranks()
                          : settings.kind == CollectiveKind::sendrecv ? 2
                                                                      : 0;
  return driven * (launch_us_per_gpu + messages * launch_us_per_message);
}

std::expected<double, std::string> CollectiveRun::kernel_us(const cuda::CollectiveSpec& spec,
                                                            const CollectiveSettings& settings,
                                                            CollectiveRow& row) {
  // The closed form first: it tells whether the messages' times would be beyond the range.
  auto done = model_.carry_out(spec, plan_, nccl::DataPath::flow);
  if (!done) return std::unexpected("no route between ranks");
  if (!(alone_us(done->timing) < latest_us)) {
    const nccl::CollectiveTiming& timing = done->timing;
    std::string why = fmt::format(
        "the collective takes more than 46 days of simulated time: {} "
        "is latency",
        simcore::to_text(timing.latency));
    if (timing.traffic != nullptr) {
      simcore::BitRate rate = timing.traffic->rate;
      if (timing.cap.bytes_per_second > 0) rate = std::min(rate, timing.cap);
      why += fmt::format(", and its data move at {}", simcore::to_text(rate));
    }
    return std::unexpected(std::move(why));
  }
  if (settings.fidelity == CollectiveFidelity::chunk) {
    done = model_.carry_out(spec, plan_, nccl::DataPath::chunk);
    messages_ += static_cast<std::uint64_t>(done->simulated);
  }
  row.algorithm = done->timing.algorithm;
  row.protocol = done->timing.protocol;
  row.channels = done->timing.channels;
  row.threads = 640;  // of point-to-point kernels
  if (done->choice) {
    row.threads = done->choice->threads;
    row.chunk_bytes = done->choice->chunk_bytes.count;
  }
  if (settings.fidelity != CollectiveFidelity::model) return alone_us(done->timing);
  if (!done->choice) return std::unexpected("NCCL has no estimate of its own for messages");
  return done->choice->predicted_us;
}

std::expected<std::optional<CollectiveRow>, std::string> CollectiveRun::run(
    const CollectiveSettings& settings, std::int64_t bytes) {
  const std::int64_t element = gpu::bytes_per_element(settings.type);
  const std::int64_t parts = has_part_per_rank(settings.kind) ? cluster_->ranks() : 1;
  CollectiveRow row;
  row.elements = bytes / element / parts;
  row.bytes = row.elements * element * parts;
  if (row.elements == 0) return std::nullopt;
  cuda::CollectiveSpec spec;
  spec.kind = settings.kind;
  spec.bytes.count = row.bytes;
  spec.type = settings.type;
  const bool alone = cluster_->ranks() == 1;
  const auto kernel = alone ? copy_us(row.bytes) : kernel_us(spec, settings, row);
  if (!kernel) return std::unexpected(kernel.error());
  const double least = settings.fidelity == CollectiveFidelity::model ? 0 : launch_us(settings);
  row.time_us = std::max(*kernel, least);
  row.in_place_us = alone ? least : row.time_us;
  row.algbw = row.time_us > 0 ? static_cast<double>(row.bytes) / row.time_us * 1e-3 : 0;
  row.busbw = row.algbw * bus_factor(settings.kind, cluster_->ranks());
  return row;
}

std::expected<void, std::string> CollectiveRun::trace(const CollectiveSettings& settings,
                                                      std::int64_t bytes,
                                                      const nccl::TraceVisitor& visit) {
  cuda::CollectiveSpec spec;
  spec.kind = settings.kind;
  spec.bytes.count = bytes;
  spec.type = settings.type;
  return model_.trace(spec, plan_, visit);
}

std::expected<nccl::ChunkWork, std::string> CollectiveRun::work(const CollectiveSettings& settings,
                                                                std::int64_t bytes) {
  cuda::CollectiveSpec spec;
  spec.kind = settings.kind;
  spec.bytes.count = bytes;
  spec.type = settings.type;
  return model_.work(spec, plan_);
}

}  // namespace shardsim::scenario
