// Watches the messages of a collective at chunk level.
//
// Takes the rows of its trace (docs/chunk-trace.md) and holds each connection - a channel, a
// sender and a receiver - to: what is sent is received, message by message and byte by byte; no
// message is received before its sender has begun with it, and none takes negative time; no more
// are under way than the connection's buffers hold; nothing happens after the collective's end.
// What NVLink switches add up or multicast has no single sender, and counts only for what each rank
// receives.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/cuda/program.hpp"
#include "models/nccl/chunk/trace_record.hpp"
#include "models/scenario/checks/check_log.hpp"

namespace shardsim::scenario {

class MessageCheck {
 public:
  /// Steps that the buffers of a connection between two ranks hold, on both sides together.
  using StepsBetween = std::function<std::int64_t(int from, int to)>;

  /// `log` must outlive the check.
  MessageCheck(std::string where, StepsBetween steps, CheckLog& log);

  void row(const nccl::TraceRecord& record, const nccl::TraceTimes& times);
  /// All rows have been seen. `end` of the collective.
  void finish(simcore::SimTime end);
  /// Each of so many ranks has received what the operation cannot do without (least_bytes).
  void expect_received(cuda::CollectiveKind kind, double bytes, int ranks);
  std::uint64_t rows() const { return rows_; }

 private:
  struct Message {
    std::int64_t step = 0;
    std::int64_t bytes = 0;
    simcore::SimTime start;
    simcore::SimTime end;
  };
  struct Connection {
    std::vector<Message> sent;
    std::vector<Message> received;
  };
  using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t>;  ///< channel, from, to
  void check_connection(const Key& key, const Connection& connection);
  void expect(Invariant invariant, bool good, simcore::SimTime time, const Key& key,
              const std::string& found, const std::string& expected);

  std::string where_;
  StepsBetween steps_;
  CheckLog& log_;
  std::map<Key, Connection> connections_;
  /// Channel and rank whose other ends a switch takes together.
  std::set<std::pair<std::int32_t, std::int32_t>> multicasts_;
  std::set<std::pair<std::int32_t, std::int32_t>> added_up_;
  std::map<std::int32_t, std::int64_t> received_;  ///< bytes, by rank
  simcore::SimTime last_;
  std::uint64_t rows_ = 0;
};

}  // namespace shardsim::scenario
