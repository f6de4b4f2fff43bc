// Runs a channel's program and carries out its rows on sets of ranks in place of numbers: what a
// chunk holds is whose data it is the sum of.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "models/nccl/chunk/channel_engine.hpp"

namespace shardsim::nccl {

struct TracedRow {
  TraceRecord record;
  TraceTimes times;
};

class RowRecorder {
 public:
  static constexpr bool enabled = true;
  explicit RowRecorder(std::size_t workers) : rows(workers) {}
  void record(std::size_t worker, const TraceRecord& record, const TraceTimes& times) {
    rows[worker].push_back({record, times});
  }
  std::vector<std::vector<TracedRow>> rows;  ///< by worker
};

template <class Program>
std::vector<std::vector<TracedRow>> rows_of(const Program& program, const ChannelLayout& layout,
                                            const Slicing& slicing, const ChannelCosts& costs) {
  RowRecorder recorder(layout.workers.size());
  ChannelEngine engine(program, layout, slicing, costs, recorder);
  engine.run(0, SteadyState::simulate);
  return std::move(recorder.rows);
}

using Contributors = std::set<int>;
/// [rank][chunk].
using Holdings = std::vector<std::map<std::int64_t, Contributors>>;

/// Carries out rows, each worker's in order, until all are done or none can go on; returns how many
/// are left. Rows of one slice come first from inputs, then to outputs.
inline std::size_t replay(const std::vector<std::vector<TracedRow>>& rows, Holdings& holdings) {
  std::map<std::pair<int, int>, std::vector<Contributors>> links;  // from, to
  std::map<std::pair<int, int>, std::size_t> taken;
  std::vector<std::size_t> next(rows.size(), 0);
  std::size_t left = 0;
  for (const auto& worker : rows) left += worker.size();
  for (bool moved = true; moved && left > 0;) {
    moved = false;
    for (std::size_t w = 0; w < rows.size(); ++w) {
      while (next[w] < rows[w].size()) {
        const TraceRecord& row = rows[w][next[w]].record;
        auto& mine = holdings[static_cast<std::size_t>(row.rank)][row.chunk];
        if (row.action == TraceAction::send) {
          links[{row.rank, row.peer}].push_back(mine);
        } else {
          const std::pair key{row.peer, row.rank};
          if (links[key].size() <= taken[key]) break;
          const Contributors& arrived = links[key][taken[key]++];
          if (row.action == TraceAction::receive) mine.clear();
          mine.insert(arrived.begin(), arrived.end());
        }
        ++next[w];
        --left;
        moved = true;
      }
    }
  }
  return left;
}

}  // namespace shardsim::nccl
