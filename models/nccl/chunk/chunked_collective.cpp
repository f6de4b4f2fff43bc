#include "models/nccl/chunk/chunked_collective.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "models/nccl/chunk/nvls_program.hpp"
#include "models/nccl/chunk/pat_program.hpp"
#include "models/nccl/chunk/tree_program.hpp"

namespace shardsim::nccl {

using simcore::SimTime;

namespace {

SimTime from_us(double us) { return SimTime::from_seconds(us * 1e-6); }

/// A channel's rows, worker by worker.
class ChannelRecorder {
 public:
  static constexpr bool enabled = true;
  struct Row {
    TraceRecord record;
    TraceTimes times;
  };

  explicit ChannelRecorder(std::size_t workers) : rows_(workers) {}
  void record(std::size_t worker, const TraceRecord& record, const TraceTimes& times) {
    rows_[worker].push_back({record, times});
  }
  std::vector<std::vector<Row>>& rows() { return rows_; }

 private:
  std::vector<std::vector<Row>> rows_;
};

}  // namespace

ChunkedCollective::ChunkedCollective(const PlannedCommunicator& planned,
                                     const TimingConstants& constants, cuda::CollectiveKind kind,
                                     const Operation& operation, const Choice& choice,
                                     const TimedTransfer& transfer)
    : planned_(planned),
      operation_(operation),
      choice_(choice),
      scheduled_(planned.selector->scheduled(operation, choice)) {
  const ScheduleInputs& inputs = planned.selector->schedule_inputs();
  if (scheduled_.elements > 0) range_ = schedule(inputs, std::span(&scheduled_, 1)).front();
  costs_ = chunk_costs(constants, kind, choice, transfer, inputs.nvls_heads);
  if (scheduled_.elements == 0) return;
  nodes_ = consecutive_ranks(planned.shape.nodes, planned.shape.ranks_per_node());
  const int channels = range_.last + 1;
  switch (choice.algorithm) {
    case Algorithm::tree:
      trees_ = connect_trees(planned.graphs.tree, nodes_, channels);
      break;
    case Algorithm::nvls_tree:
      nvls_trees_ = connect_nvls_trees(planned.graphs.nvls, nodes_);
      break;
    case Algorithm::ring:
      rings_ = connect_rings(planned.graphs.ring, nodes_, channels,
                             planned.selector->inputs().communicator.version);
      break;
    default:
      break;
  }
}

ChannelLoad ChunkedCollective::load_of(int channel) const {
  const ChannelPart& part = range_.part(channel);
  return {operation_.collective, part.elements * scheduled_.element_bytes,
          part.chunking.chunk_bytes, scheduled_.element_bytes};
}

// Calls `visit` with the channel's program, layout, slicing and costs.
template <class Visit>
void ChunkedCollective::with_program(int channel, const Visit& visit) const {
  const ChannelLoad load = load_of(channel);
  const auto at = static_cast<std::size_t>(channel);
  const int per_node = planned_.shape.ranks_per_node();
  const auto between = [per_node](int a, int b) { return a / per_node != b / per_node; };
  const std::int64_t buffer = planned_.selector->schedule_inputs().buffer_bytes[choice_.protocol];
  const Slicing slicing =
      slicing_of(range_.part(channel).chunking, buffer, scheduled_.element_bytes);
  switch (choice_.algorithm) {
    case Algorithm::tree: {
      const TreeProgram program(load, trees_[at]);
      visit(program, program.layout(between), slicing, costs_.channel);
      break;
    }
    case Algorithm::nvls:
    case Algorithm::nvls_tree: {
      const NvlsProgram program(load, nodes_, nvls_heads_of(planned_.graphs.nvls),
                                nvls_trees_[at % 2]);
      visit(program, program.layout(), slicing, costs_.channel);
      break;
    }
    case Algorithm::pat: {
      const PatProgram program(load, planned_.shape.ranks());
      visit(program, program.layout(between), slicing, costs_.channel);
      break;
    }
    default: {
      const RingProgram program(load, rings_[at]);
      visit(program, program.layout(between), slicing, costs_.channel);
      break;
    }
  }
}

// What makes two channels take equally long: what they carry, and where on their rings the hops
// between nodes are, or which of two trees they use.
std::vector<std::int64_t> ChunkedCollective::likeness(int channel) const {
  const ChannelLoad load = load_of(channel);
  const auto at = static_cast<std::size_t>(channel);
  std::vector<std::int64_t> key{load.bytes, load.chunk_bytes};
  const int per_node = planned_.shape.ranks_per_node();
  if (choice_.algorithm == Algorithm::ring) {
    const std::vector<int>& order = rings_[at];
    for (std::size_t i = 0; i < order.size(); ++i) {
      const int next = order[(i + 1) % order.size()];
      if (order[i] / per_node != next / per_node) key.push_back(static_cast<std::int64_t>(i));
    }
  } else if (choice_.algorithm == Algorithm::tree) {
    key.push_back(channel / planned_.graphs.tree.channel_count() % 2);
  } else {
    key.push_back(channel % 2);
  }
  return key;
}

ChunkResult ChunkedCollective::run(SteadyState steady) const {
  ChunkResult result;
  result.time = from_us(costs_.start_us);
  if (scheduled_.elements == 0) return result;
  std::map<std::vector<std::int64_t>, ChannelRun> known;
  SimTime longest;
  for (int channel = range_.first; channel <= range_.last; ++channel) {
    const auto [entry, is_new] = known.try_emplace(likeness(channel));
    ChannelRun& run = entry->second;
    if (is_new) {
      with_program(channel, [&](const auto& program, const ChannelLayout& layout,
                                const Slicing& slicing, const ChannelCosts& costs) {
        NoRecorder nothing;
        ChannelEngine engine(program, layout, slicing, costs, nothing);
        run = engine.run(channel, steady);
      });
      result.simulated += run.simulated;
    }
    result.messages += run.messages;
    longest = std::max(longest, run.end);
  }
  result.time += longest + from_us(costs_.end_us);
  return result;
}

void ChunkedCollective::trace(const TraceVisitor& visit) const {
  if (scheduled_.elements == 0) return;
  std::vector<std::vector<std::vector<ChannelRecorder::Row>>> channels;  // [channel][worker]
  const SimTime start = from_us(costs_.start_us);
  for (int channel = range_.first; channel <= range_.last; ++channel) {
    with_program(channel, [&](const auto& program, const ChannelLayout& layout,
                              const Slicing& slicing, const ChannelCosts& costs) {
      ChannelRecorder recorder(layout.workers.size());
      ChannelEngine engine(program, layout, slicing, costs, recorder);
      engine.run(channel, SteadyState::simulate);
      // Workers of a ring stand in its order; the trace is by rank and role.
      auto& rows = channels.emplace_back(std::move(recorder.rows()));
      std::ranges::stable_sort(rows, {}, [](const auto& worker) {
        return worker.empty() ? std::pair{-1, -1}
                              : std::pair{worker.front().record.rank, worker.front().record.role};
      });
    });
  }
  std::vector<std::size_t> next(channels.size(), 0);
  for (int rank = 0; rank < planned_.shape.ranks(); ++rank) {
    for (std::size_t c = 0; c < channels.size(); ++c) {
      for (; next[c] < channels[c].size(); ++next[c]) {
        const auto& worker = channels[c][next[c]];
        if (!worker.empty() && worker.front().record.rank != rank) break;
        for (const auto& row : worker) {
          visit(row.record, {row.times.start + start, row.times.end + start});
        }
      }
    }
  }
}

ChunkWork ChunkedCollective::work() const {
  ChunkWork made;
  made.algorithm = choice_.algorithm;
  made.protocol = choice_.protocol;
  made.ranks = planned_.shape.ranks();
  made.element_bytes = scheduled_.element_bytes;
  made.step_bytes =
      planned_.selector->schedule_inputs().buffer_bytes[choice_.protocol] / steps_per_buffer;
  if (scheduled_.elements == 0) return made;
  std::int64_t offset = 0;
  for (int channel = range_.first; channel <= range_.last; ++channel) {
    const ChannelLoad load = load_of(channel);
    const Chunking& chunking = range_.part(channel).chunking;
    ChannelWork& one = made.channels.emplace_back();
    one.channel = channel;
    one.offset_bytes = offset;
    one.bytes = load.bytes;
    one.chunk_bytes = load.chunk_bytes;
    one.slices = chunking.chunk_steps / chunking.slice_steps;
    one.slice_steps = chunking.slice_steps;
    const auto at = static_cast<std::size_t>(channel);
    if (at < rings_.size()) one.ring = rings_[at];
    if (at < trees_.size()) one.tree = trees_[at];
    offset += load.bytes;
  }
  return made;
}

}  // namespace shardsim::nccl
