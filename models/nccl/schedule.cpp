#include "models/nccl/schedule.hpp"

#include <algorithm>

#include "simcore/integer.hpp"

namespace shardsim::nccl {

using simcore::divide_up;
using simcore::round_up;

namespace {

constexpr std::int64_t least_traffic = std::int64_t{32} * 1024;  // of a channel

int channels_of(const ScheduleInputs& inputs, OperationKind kind) {
  if (!kind.nvls) return inputs.channels.collective;
  return kind.collnet ? std::min(inputs.channels.collective, inputs.channels.nvls)
                      : inputs.channels.nvls;
}

std::int64_t traffic_of(const ScheduleInputs& inputs, const ScheduledOperation& operation) {
  return operation.elements * operation.element_bytes *
         traffic_per_byte(operation.choice.collective, operation.choice.protocol, inputs.ranks);
}

ChannelPart part_of(const ScheduleInputs& inputs, const ScheduledOperation& operation,
                    std::int64_t elements) {
  if (elements == 0) return {};
  const int ranks = has_part_per_rank(operation.choice.collective) ? inputs.ranks : 1;
  return {elements, cut(inputs, operation.choice, elements * operation.element_bytes * ranks, 1)};
}

/// CollNet: all channels alike, cut as a whole.
ChannelRange spread_whole(const ScheduleInputs& inputs, const ScheduledOperation& operation) {
  const int channels = operation.most_channels;
  const int ranks = has_part_per_rank(operation.choice.collective) ? inputs.ranks : 1;
  const Chunking chunking =
      cut(inputs, operation.choice, operation.elements * operation.element_bytes * ranks, channels);
  const std::int64_t each = divide_up(operation.elements, channels);
  ChannelRange range{0, channels - 1, {each, chunking}, {}, {}};
  if (channels > 2) range.middle = {each, chunking};
  if (channels > 1) range.high = {operation.elements - (channels - 1) * each, chunking};
  return range;
}

/// Cells of one operation on the first, the last and each of the channels between.
struct Cells {
  std::int64_t low = 0;
  std::int64_t middle = 0;
  std::int64_t high = 0;
  int middle_channels = 0;
};

/// Fills the channels of one kind.
class CellScheduler {
 public:
  CellScheduler(const ScheduleInputs& inputs, OperationKind kind,
                std::span<const ScheduledOperation> operations)
      : inputs_(inputs), channels_(channels_of(inputs, kind)) {
    std::int64_t traffic = 0;
    std::int64_t wanted = 0;
    for (const ScheduledOperation& operation : operations) {
      traffic += std::max(least_traffic, traffic_of(inputs, operation));
      wanted += operation.most_channels;
    }
    quota_ = round_up(traffic / std::min<std::int64_t>(wanted, channels_), 16);
  }

  ChannelRange place(const ScheduledOperation& operation) {
    const std::int64_t per_byte =
        traffic_per_byte(operation.choice.collective, operation.choice.protocol, inputs_.ranks);
    const std::int64_t cell_bytes = round_up(divide_up(least_traffic, per_byte), 16);
    const std::int64_t cell = cell_bytes / operation.element_bytes;  // elements
    const std::int64_t cells = divide_up(operation.elements * operation.element_bytes, cell_bytes);
    const Cells split = divide(cells, cell_bytes * per_byte);

    std::int64_t low = split.low * cell;
    std::int64_t high = split.high * cell;
    (high != 0 ? high : low) -= cells * cell - operation.elements;
    ChannelRange range;
    range.first = channel_;
    range.last = channel_ + split.middle_channels + (split.high != 0 ? 1 : 0);
    range.low = part_of(inputs_, operation, low);
    if (split.middle_channels > 0) range.middle = part_of(inputs_, operation, split.middle * cell);
    range.high = part_of(inputs_, operation, high);
    advance(split, range, cell * operation.element_bytes * per_byte);
    return range;
  }

 private:
  Cells divide(std::int64_t cells, std::int64_t cell_traffic) {
    Cells split;
    split.middle = std::min(cells, divide_up(quota_, cell_traffic));
    const bool on_last = channel_ + 1 == channels_;
    split.low = on_last ? cells : std::min(cells, divide_up(quota_ - traffic_, cell_traffic));
    const std::int64_t rest = cells - split.low;
    split.middle_channels = static_cast<int>(rest / split.middle);
    split.high = rest % split.middle;
    const int needed = (split.low != 0 ? 1 : 0) + split.middle_channels + (split.high != 0 ? 1 : 0);
    if (channel_ + needed > channels_) {  // the last takes more than its quota
      split.middle_channels = channels_ - channel_ - 2;
      split.middle = rest / (split.middle_channels + 1);
      split.high = split.middle + rest % (split.middle_channels + 1);
    }
    if (split.high == 0 && split.middle_channels != 0) {
      split.high = split.middle;
      --split.middle_channels;
    }
    if (split.low == 0) take_next_as_first(split);
    return split;
  }

  void take_next_as_first(Cells& split) {
    ++channel_;
    if (split.middle_channels == 0) {
      split.low = split.high;
      split.high = 0;
    } else {
      split.low = split.middle;
      --split.middle_channels;
    }
  }

  void advance(const Cells& split, const ChannelRange& range, std::int64_t cell_traffic) {
    if (split.high != 0) {
      channel_ = range.last;
      traffic_ = split.high * cell_traffic;
    } else if (split.middle_channels != 0) {
      channel_ = range.last + 1;
      traffic_ = 0;
    } else {
      traffic_ += split.low * cell_traffic;
    }
    if (traffic_ >= quota_ && channel_ + 1 != channels_) {
      ++channel_;
      traffic_ = 0;
    }
  }

  const ScheduleInputs& inputs_;
  int channels_;
  std::int64_t quota_ = 0;  ///< traffic of a channel
  int channel_ = 0;
  std::int64_t traffic_ = 0;  ///< on that channel
};

/// Granularity of shares before 2.22, in bytes.
std::int64_t share_grain(const ScheduledOperation& operation) {
  switch (operation.choice.protocol) {
    case Protocol::ll:
      return std::int64_t{8} * operation.threads;
    case Protocol::ll128:
      return std::int64_t{480} * (operation.threads / 32);
    case Protocol::simple:
      break;
  }
  return 4096;
}

/// Before 2.22.
ChannelRange spread_evenly(const ScheduleInputs& inputs, const ScheduledOperation& operation) {
  const int most = std::min(operation.most_channels,
                            channels_of(inputs, kind_of(operation.choice.algorithm, inputs.nodes)));
  const int ranks = has_part_per_rank(operation.choice.collective) ? inputs.ranks : 1;
  const std::int64_t grain =
      std::max<std::int64_t>(1, share_grain(operation) / operation.element_bytes);
  const std::int64_t each = round_up(divide_up(operation.elements, most), grain);
  const int channels = static_cast<int>(divide_up(operation.elements, each));
  Chunking chunking =
      cut(inputs, operation.choice, operation.elements * operation.element_bytes * ranks, channels);
  ChannelRange range;
  range.last = channels - 1;
  range.low = {std::min(each, operation.elements), chunking};
  if (channels > 2) range.middle = {each, chunking};
  if (channels > 1) range.high = {operation.elements - (channels - 1) * each, chunking};
  return range;
}

}  // namespace

double equal_channels(const ChannelRange& range) {
  std::int64_t total = 0;
  std::int64_t most = 0;
  for (int channel = range.first; channel <= range.last; ++channel) {
    total += range.part(channel).elements;
    most = std::max(most, range.part(channel).elements);
  }
  return most > 0 ? static_cast<double>(total) / static_cast<double>(most) : 1;
}

std::int64_t traffic_per_byte(Collective collective, Protocol protocol, int ranks) {
  const std::int64_t factor = collective == Collective::all_reduce ? 2
                              : has_part_per_rank(collective)      ? ranks
                                                                   : 1;
  return protocol == Protocol::ll ? 4 * factor : factor;
}

OperationKind kind_of(Algorithm algorithm, int nodes) {
  return {is_collnet(algorithm) || (algorithm == Algorithm::nvls && nodes > 1), is_nvls(algorithm)};
}

const ChannelPart& ChannelRange::part(int channel) const {
  if (channel == first) return low;
  return channel == last ? high : middle;
}

std::vector<ChannelRange> schedule(const ScheduleInputs& inputs,
                                   std::span<const ScheduledOperation> operations) {
  std::vector<ChannelRange> ranges;
  while (!operations.empty()) {
    const OperationKind kind = kind_of(operations.front().choice.algorithm, inputs.nodes);
    const auto end = std::ranges::find_if_not(operations, [&](const ScheduledOperation& other) {
      return kind_of(other.choice.algorithm, inputs.nodes) == kind;
    });
    const auto run = operations.first(static_cast<std::size_t>(end - operations.begin()));
    CellScheduler cells(inputs, kind, run);
    for (const ScheduledOperation& operation : run) {
      ranges.push_back(kind.collnet                  ? spread_whole(inputs, operation)
                       : inputs.rules.cell_scheduler ? cells.place(operation)
                                                     : spread_evenly(inputs, operation));
    }
    operations = operations.subspan(run.size());
  }
  return ranges;
}

}  // namespace shardsim::nccl
