#include "models/nccl/schedule_group.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <tuple>

#include "simcore/integer.hpp"

namespace shardsim::nccl {
namespace {

struct Task {
  std::size_t index = 0;
  std::int64_t traffic = 0;
  int bin = 0;
};

/// NCCL sorts by size classes, four to each power of two between 1 KiB and 1 GiB.
int size_class(std::int64_t traffic) {
  const auto kibibytes =
      static_cast<std::uint32_t>(std::min<std::int64_t>(traffic, std::int64_t{1} << 30) >> 10);
  const int log2 = static_cast<int>(std::bit_width(kibibytes | 1U)) - 1;
  const std::uint32_t mantissa = (kibibytes >> std::max(0, log2 - 2)) & 3U;
  const int exponent = log2 >= 2 ? log2 - 1 : 0;
  return exponent * 4 + static_cast<int>(mantissa);
}

auto likeness(const Operation& operation) {
  const bool in_bytes = operation.collective == Collective::all_gather ||
                        operation.collective == Collective::broadcast;
  return std::tuple(operation.collective, in_bytes ? Reduction::sum : operation.reduction,
                    in_bytes ? gpu::DataType::fp32 : operation.type);
}

/// Bins of alike operations, each in ascending order; first the bin with the largest operation.
std::vector<std::vector<Task>> bins_of(const Selector& selector,
                                       std::span<const Operation> operations) {
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    const ScheduledOperation one = selector.scheduled(operations[i], Choice{});
    if (one.elements == 0) continue;
    const std::int64_t traffic = one.elements * one.element_bytes *
                                 traffic_per_byte(one.choice.collective, Protocol::simple,
                                                  selector.inputs().communicator.ranks);
    tasks.push_back({i, traffic, size_class(traffic)});
  }
  // Of one class the latest comes first.
  std::ranges::stable_sort(tasks, std::greater{},
                           [](const Task& task) { return std::pair(task.bin, task.index); });
  std::vector<std::vector<Task>> bins;
  for (const Task& task : tasks) {
    const auto same = std::ranges::find_if(bins, [&](const std::vector<Task>& bin) {
      return likeness(operations[bin.front().index]) == likeness(operations[task.index]);
    });
    if (same == bins.end()) {
      bins.push_back({task});
    } else {
      same->push_back(task);
    }
  }
  for (auto& bin : bins) std::ranges::reverse(bin);
  return bins;
}

int launch_order(const PlannedOperation& planned, int nodes) {
  const OperationKind kind = kind_of(planned.choice.algorithm, nodes);
  return (kind.collnet ? 2 : 0) + (kind.nvls ? 1 : 0);
}

}  // namespace

std::expected<std::vector<PlannedOperation>, std::string> plan_group(
    const Selector& selector, std::span<const Operation> operations) {
  const auto bins = bins_of(selector, operations);
  std::size_t count = 0;
  for (const auto& bin : bins) count += bin.size();
  const auto channels =
      static_cast<std::size_t>(std::max(1, selector.schedule_inputs().channels.collective));
  const int pipelined = static_cast<int>(simcore::divide_up(count, channels));

  std::vector<PlannedOperation> planned;
  for (const auto& bin : bins) {
    for (std::size_t begin = 0; begin < bin.size();) {
      Operation together = operations[bin[begin].index];
      std::size_t end = begin + 1;
      while (end < bin.size() && bin[end].traffic < 4 * bin[begin].traffic) {
        together.bytes += operations[bin[end++].index].bytes;
      }
      const auto choice = selector.select(together, pipelined);
      if (!choice) return std::unexpected(choice.error());
      for (; begin < end; ++begin) planned.push_back({bin[begin].index, *choice, {}});
    }
  }
  const int nodes = selector.inputs().communicator.nodes;
  std::ranges::stable_sort(planned, {}, [&](const PlannedOperation& operation) {
    return launch_order(operation, nodes);
  });
  std::vector<ScheduledOperation> scheduled;
  for (const PlannedOperation& one : planned) {
    scheduled.push_back(selector.scheduled(operations[one.operation], one.choice));
  }
  const auto ranges = schedule(selector.schedule_inputs(), scheduled);
  for (std::size_t i = 0; i < planned.size(); ++i) {
    planned[i].range = ranges[i];
    planned[i].choice.channels = ranges[i].channels();
    planned[i].choice.chunk_bytes.count = ranges[i].low.chunking.chunk_bytes;
  }
  return planned;
}

}  // namespace shardsim::nccl
