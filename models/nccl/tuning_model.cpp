#include "models/nccl/tuning_model.hpp"

#include <algorithm>
#include <bit>

#include "simcore/integer.hpp"

namespace shardsim::nccl {

using enum Algorithm;
using enum Collective;

namespace {

/// PCIe 3 x16 in GB/s: rings no faster than this take half the threads.
constexpr double slow_ring_gbps = 12;

int threads_or(const Setting& setting, int otherwise) {
  return setting && *setting > 0 ? static_cast<int>(*setting) : otherwise;
}

PerAlgorithm<PerProtocol<int>> most_threads(const TuningInputs& inputs,
                                            const Environment& environment) {
  PerAlgorithm<PerProtocol<int>> threads;
  const bool slow = inputs.ring.bw_intra_gbps * inputs.ring.channels <= slow_ring_gbps;
  for (const Algorithm algorithm : {tree, ring}) {
    const int simple = algorithm == ring && slow ? 256 : 512;
    threads[algorithm] = {{threads_or(environment.threads, 512),
                           threads_or(environment.ll128_threads, 640),
                           threads_or(environment.threads, simple)}};
  }
  for (const Algorithm algorithm : {collnet_direct, collnet_chain, nvls, nvls_tree}) {
    threads[algorithm][Protocol::simple] = 640;
  }
  return threads;
}

bool any_available(const PerAlgorithm<PerProtocol<TuningCell>>& cells) {
  return std::ranges::any_of(cells.values, [](const auto& protocols) {
    return std::ranges::any_of(protocols.values,
                               [](const TuningCell& cell) { return cell.bandwidth_gbps != 0; });
  });
}

/// Pairs for which NCCL fills in nothing at all, not even a latency.
bool has_entry(const TuningInputs& inputs, const TuningConstants& constants,
               const Environment& environment, Collective collective, Algorithm algorithm,
               Protocol protocol) {
  if (!carries_out(constants.rules, algorithm, collective)) return false;
  if ((is_nvls(algorithm) || algorithm == pat) && protocol != Protocol::simple) return false;
  if (is_nvls(algorithm) && constants.rules.nvls_by_efficiency && inputs.nvls.channels < 2) {
    return false;
  }
  if (algorithm != pat) return true;
  const CommunicatorFacts& facts = inputs.communicator;
  if (constants.rules.pat_needs_atomics && facts.least_compute_capability < 60) return false;
  const auto setting = environment.pat_enable.value_or(2);
  return setting == 2 ? facts.nodes == facts.ranks && facts.network_by_host : setting != 0;
}

}  // namespace

int floor_log2(std::int64_t value) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value))) - 1;
}

const GraphSummary& graph_of(const TuningInputs& inputs, Algorithm algorithm) {
  switch (algorithm) {
    case ring:
      return inputs.ring;
    case collnet_direct:
      return inputs.collnet_direct;
    case collnet_chain:
      return inputs.collnet_chain;
    case nvls:
    case nvls_tree:
      return inputs.nvls;
    case tree:
    case pat:
      break;
  }
  return inputs.tree;
}

bool carries_out(const TuningRules& rules, Algorithm algorithm, Collective collective) {
  if (algorithm == ring) return true;
  if (collective == all_reduce) return algorithm != pat;
  if (!has_part_per_rank(collective)) return false;
  return (algorithm == nvls && rules.nvls_gathers) || (algorithm == pat && rules.pat) ||
         (algorithm == collnet_direct && rules.collnet_gathers);
}

TuningTable tuning_table(const TuningInputs& inputs, const Environment& environment) {
  const TuningConstants constants = tuning_constants(inputs.communicator.version);
  TuningTable table;
  table.most_threads = most_threads(inputs, environment);
  if (inputs.communicator.ranks <= 1) return table;
  for (const Collective collective : all_collectives) {
    auto& cells = table.cells[collective];
    auto& fallback = table.ring_fallback_gbps[collective];
    for (const Algorithm algorithm : all_algorithms) {
      const bool algorithm_on =
          algorithm_enabled(inputs, constants, environment, collective, algorithm);
      for (const Protocol protocol : all_protocols) {
        if (!has_entry(inputs, constants, environment, collective, algorithm, protocol)) continue;
        const double bandwidth =
            tuning_bandwidth_gbps(inputs, constants, collective, algorithm, protocol);
        const bool protocol_on =
            protocol_enabled(inputs, constants, environment, collective, algorithm, protocol);
        cells[algorithm][protocol] = {
            tuning_latency_us(inputs, constants, environment, collective, algorithm, protocol),
            algorithm_on && protocol_on ? bandwidth : 0};
        if (algorithm == ring && constants.rules.ring_fallback &&
            (protocol_on || !constants.rules.ring_fallback_by_protocol)) {
          fallback[protocol] = bandwidth;
        }
      }
    }
    if (any_available(cells)) continue;
    for (const Protocol protocol : all_protocols) {
      cells[ring][protocol].bandwidth_gbps = fallback[protocol];
    }
  }
  return table;
}

double predicted_us(const TuningInputs& inputs, const TuningConstants& constants,
                    const TuningCell& cell, const TimedOperation& operation, Algorithm algorithm,
                    Protocol protocol, int channels) {
  const CommunicatorFacts& facts = inputs.communicator;
  double bandwidth = cell.bandwidth_gbps;
  double latency = cell.latency_us;
  if (bandwidth == 0) return -1;
  if (operation.collective == all_reduce) {
    int step = floor_log2(operation.bytes >> 6);
    if (step < 0 && !constants.rules.small_trees_uncorrected) step = 0;
    const bool sized_nvls_tree = algorithm == nvls_tree && constants.rules.nvls_tree_size_factor &&
                                 facts.least_compute_capability >= 100 &&
                                 facts.cpu_architecture == CpuArchitecture::x86;
    // The table's last column, 512 MiB, is for NVLS trees alone.
    if (sized_nvls_tree || (algorithm == tree && step < 23)) {
      bandwidth *= tree_size_factor(protocol, step);
    }
    if (algorithm == ring && protocol == Protocol::simple && facts.nodes > 1 &&
        operation.bytes / (std::int64_t{channels} * facts.ranks) >= 64) {
      latency *= facts.least_compute_capability < 80 ? 1.9 : 1.4;
    }
  }
  const int batch = constants.operations_per_batch;
  const int latencies =
      algorithm == ring ? operation.pipelined : simcore::divide_up(operation.pipelined, batch);
  return latency * latencies + static_cast<double>(operation.bytes) / (1000 * bandwidth);
}

}  // namespace shardsim::nccl
