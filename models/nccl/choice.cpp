#include "models/nccl/choice.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace shardsim::nccl {

using enum Algorithm;
using enum Collective;

namespace {

constexpr int warp = 32;
constexpr int most_direct_ranks = 8;  // of a node, for CollNet
constexpr int most_nvls_ranks = 32;   // of a node, for all but all-reduce

PerAlgorithm<PerProtocol<std::int64_t>> thresholds(int ranks, const Environment& environment) {
  PerAlgorithm<PerProtocol<std::int64_t>> bytes;
  for (auto& row : bytes.values) row = {{8, 8, 64}};
  bytes[ring][Protocol::ll] *= ranks;
  bytes[collnet_direct][Protocol::simple] = 512;
  bytes[collnet_chain][Protocol::simple] = 512;
  for (std::size_t i = 0; i < environment.thread_thresholds.size(); ++i) {
    const std::int64_t set = environment.thread_thresholds[i];
    if (set >= 0) bytes[i < 3 ? tree : ring].values[i % 3] = set;
  }
  return bytes;
}

/// What NVLink switches can add up: sums of all but fp8, least and largest of 16 bits.
bool switch_reduces(gpu::DataType type, Reduction reduction) {
  const bool extreme = reduction == Reduction::minimum || reduction == Reduction::maximum;
  switch (type) {
    case gpu::DataType::bf16:
    case gpu::DataType::fp16:
      return reduction == Reduction::sum || extreme;
    case gpu::DataType::fp32:
    case gpu::DataType::tf32:
      return reduction == Reduction::sum;
    case gpu::DataType::fp8:
      break;
  }
  return false;
}

ScheduleInputs inputs_of_schedule(const TuningInputs& inputs, const TuningConstants& constants,
                                  const TuningTable& table, const Environment& environment) {
  ScheduleInputs result;
  result.rules = constants.rules;
  result.ranks = inputs.communicator.ranks;
  result.nodes = inputs.communicator.nodes;
  result.channels = channel_counts(inputs, constants, environment);
  // Every GPU of a node reduces on one node; else those that the search made heads.
  result.nvls_heads = inputs.nvls.channels;
  result.collnet_heads = inputs.communicator.collnet.heads;
  result.collnet_depth = inputs.communicator.ranks > inputs.communicator.nodes ? 2 : 1;
  result.nvls_all_reduce_gbps = table.cells[all_reduce][nvls][Protocol::simple].bandwidth_gbps;
  result.buffer_bytes = buffer_sizes(inputs.communicator, constants.rules, environment);
  return result;
}

TuningInputs with_environment(TuningInputs inputs, const Environment& environment) {
  CommunicatorFacts& facts = inputs.communicator;
  const bool wanted = environment.collnet_enable.value_or(0) != 0;
  const bool large = facts.nodes >= environment.collnet_node_threshold.value_or(2);
  facts.collnet.offered = facts.collnet.offered && wanted && large;
  facts.multicast = facts.multicast && environment.nvls_enable.value_or(2) != 0;
  return inputs;
}

}  // namespace

std::optional<Collective> collective_of(cuda::CollectiveKind kind) {
  switch (kind) {
    case cuda::CollectiveKind::all_gather:
      return all_gather;
    case cuda::CollectiveKind::reduce_scatter:
      return reduce_scatter;
    case cuda::CollectiveKind::all_reduce:
      return all_reduce;
    case cuda::CollectiveKind::broadcast:
      return broadcast;
    case cuda::CollectiveKind::reduce:
      return reduce;
    case cuda::CollectiveKind::alltoall:
    case cuda::CollectiveKind::sendrecv:
      break;
  }
  return std::nullopt;
}

Selector::Selector(const TuningInputs& inputs, const Environment& environment,
                   KernelLimits kernel_limits)
    : kernel_limits_(kernel_limits),
      inputs_(with_environment(inputs, environment)),
      constants_(tuning_constants(inputs.communicator.version)),
      table_(tuning_table(inputs_, environment)),
      schedule_(inputs_of_schedule(inputs_, constants_, table_, environment)),
      thresholds_(thresholds(inputs.communicator.ranks, environment)) {}

bool Selector::nvls_usable(const Operation& operation, Algorithm algorithm) const {
  const CommunicatorFacts& facts = inputs_.communicator;
  if (!facts.multicast || inputs_.nvls.channels == 0) return false;
  const bool gathers = has_part_per_rank(operation.collective);
  if (operation.collective != all_gather && !switch_reduces(operation.type, operation.reduction)) {
    return false;
  }
  if (algorithm == nvls && facts.nodes > 1 && !facts.collnet.offered) return false;
  return !gathers || constants_.rules.nvls_gather_needs_collnet || facts.nodes == 1;
}

bool Selector::usable(const Operation& operation, Algorithm algorithm) const {
  const int local = inputs_.communicator.most_local_ranks;
  const bool crowded = local > most_direct_ranks;
  switch (algorithm) {
    case nvls:
    case nvls_tree:
      return nvls_usable(operation, algorithm) &&
             !(kernel_limits_ == KernelLimits::kept && local > most_nvls_ranks &&
               has_part_per_rank(operation.collective));
    case collnet_direct:
      return !(crowded && constants_.rules.collnet_direct_limited);
    case collnet_chain:
      return !(crowded && constants_.rules.collnet_chain_limited);
    case pat:  // cannot scale what it adds up
      return operation.collective != reduce_scatter ||
             (operation.reduction != Reduction::average &&
              operation.reduction != Reduction::scaled_sum);
    case tree:
    case ring:
      break;
  }
  return true;
}

double Selector::cell_us(const Operation& operation, Algorithm algorithm, Protocol protocol,
                         const TuningCell& cell, int pipelined) const {
  const double us = nccl::predicted_us(inputs_, constants_, cell,
                                       {operation.collective, operation.bytes.count, pipelined},
                                       algorithm, protocol, schedule_.channels.collective);
  // Long chains of fp8 sums lose precision: last resort.
  const bool lossy = constants_.rules.fp8_avoids_rings && operation.type == gpu::DataType::fp8 &&
                     algorithm == ring && inputs_.communicator.ranks > 8;
  return lossy ? us * 1024 : us;
}

std::optional<double> Selector::predicted_us(const Operation& operation, Algorithm algorithm,
                                             Protocol protocol, int pipelined) const {
  if (!usable(operation, algorithm)) return std::nullopt;
  const TuningCell& cell = table_.cells[operation.collective][algorithm][protocol];
  const double us = cell_us(operation, algorithm, protocol, cell, pipelined);
  return us < 0 ? std::nullopt : std::optional(us);
}

void Selector::find_least(const Operation& operation, int pipelined, bool fallback,
                          std::optional<Choice>& best) const {
  for (const Algorithm algorithm : all_algorithms) {
    if ((fallback && algorithm != ring) || !usable(operation, algorithm)) continue;
    for (const Protocol protocol : all_protocols) {
      TuningCell cell = table_.cells[operation.collective][algorithm][protocol];
      if (fallback) {
        cell.bandwidth_gbps = table_.ring_fallback_gbps[operation.collective][protocol];
      }
      const double us = cell_us(operation, algorithm, protocol, cell, pipelined);
      if (us < 0 || (best && best->predicted_us <= us)) continue;
      best.emplace();
      best->algorithm = algorithm;
      best->protocol = protocol;
      best->predicted_us = us;
    }
  }
}

std::expected<Choice, std::string> Selector::select(const Operation& operation,
                                                    int pipelined) const {
  std::optional<Choice> best;
  if (inputs_.communicator.ranks <= 1) {
    best = Choice{};
  } else {
    find_least(operation, pipelined, false, best);
    if (!best) find_least(operation, pipelined, true, best);
  }
  if (!best) {
    return std::unexpected(fmt::format(
        "NCCL {} has no algorithm and protocol for {}: NCCL_ALGO and NCCL_PROTO leave none",
        to_text(inputs_.communicator.version), name(operation.collective)));
  }
  set_channels_and_threads(operation.bytes.count, *best);
  return *best;
}

void Selector::set_channels_and_threads(std::int64_t bytes, Choice& choice) const {
  const Algorithm algorithm = choice.algorithm;
  std::int64_t threshold = thresholds_[algorithm][choice.protocol];
  // The table has no threads for PAT: a channel is worth as much to it as to a tree.
  int threads = algorithm == pat ? 512 : table_.most_threads[algorithm][choice.protocol];
  int channels = schedule_.channels.collective;
  const auto too_few = [&](std::int64_t heads) {
    return bytes < heads * channels * threads * threshold;
  };
  if (is_nvls(algorithm)) {
    const bool within = constants_.rules.nvls_within_collective_channels && algorithm == nvls &&
                        inputs_.communicator.nodes > 1;
    channels = within ? std::min(schedule_.channels.nvls, channels) : schedule_.channels.nvls;
  } else if (algorithm == collnet_direct) {
    // Down to 16, 8, 4 ... channels; the threshold is halved on the way to each.
    bool few = true;
    for (int stop = 16; stop >= 1 && few; stop /= 2) {
      while ((few = too_few(schedule_.collnet_heads)) && channels > stop) {
        if (channels == stop + stop / 2) threshold /= 2;
        --channels;
      }
    }
  } else {
    while (too_few(1) && channels >= 2) --channels;
    while (too_few(1) && threads % 128 == 0) threads /= 2;
  }
  if (choice.protocol == Protocol::simple) {
    if (algorithm == ring) threads += warp;
    if (algorithm == tree) threads += 4 * warp;
  }
  threads = std::max(threads / warp * warp, 3 * warp);
  const bool all = algorithm == tree && constants_.rules.tree_takes_all_threads;
  if (all || algorithm == pat) threads = 640;
  choice.most_channels = std::max(1, channels);
  choice.threads = threads;
}

ScheduledOperation Selector::scheduled(const Operation& operation, const Choice& choice) const {
  const std::int64_t part = has_part_per_rank(operation.collective)
                                ? operation.bytes.count / inputs_.communicator.ranks
                                : operation.bytes.count;
  const bool in_bytes = operation.collective == all_gather || operation.collective == broadcast;
  const int element = in_bytes ? 1 : static_cast<int>(gpu::bytes_per_element(operation.type));
  return {{operation.collective, choice.algorithm, choice.protocol},
          part / element,
          element,
          choice.most_channels,
          choice.threads};
}

std::expected<Choice, std::string> Selector::choose(const Operation& operation) const {
  auto choice = select(operation, 1);
  if (!choice) return choice;
  const ScheduledOperation alone = scheduled(operation, *choice);
  if (alone.elements == 0) return choice;
  const ChannelRange range = schedule(schedule_, std::span(&alone, 1)).front();
  choice->channels = range.channels();
  choice->chunk_bytes.count = range.low.chunking.chunk_bytes;
  return choice;
}

}  // namespace shardsim::nccl
