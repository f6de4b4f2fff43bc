#include "models/scenario/checks/message_check.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "models/scenario/checks/collective_check.hpp"
#include "simcore/quantity.hpp"

namespace shardsim::scenario {

using nccl::TraceAction;
using simcore::SimTime;

MessageCheck::MessageCheck(std::string where, StepsBetween steps, CheckLog& log)
    : where_(std::move(where)), steps_(std::move(steps)), log_(log) {}

void MessageCheck::expect(Invariant invariant, bool good, SimTime time, const Key& key,
                          const std::string& found, const std::string& expected) {
  if (log_.holds(invariant, good)) return;
  const auto& [channel, from, to] = key;
  log_.violated({invariant, time,
                 fmt::format("{}, channel {} from rank {} to rank {}", where_, channel, from, to),
                 found, expected});
}

void MessageCheck::row(const nccl::TraceRecord& record, const nccl::TraceTimes& times) {
  ++rows_;
  last_ = std::max(last_, times.end);
  const bool sends = record.action == TraceAction::send;
  const Key key = sends ? Key{record.channel, record.rank, record.peer}
                        : Key{record.channel, record.peer, record.rank};
  if (times.start > times.end || times.start < SimTime{} || record.bytes < 0) {
    expect(Invariant::message_order, false, times.end, key,
           fmt::format("a message of {} bytes from {} to {}", record.bytes,
                       simcore::to_text(times.start), simcore::to_text(times.end)),
           "times and bytes that are not negative");
  }
  if (!sends && record.action != TraceAction::copy) received_[record.rank] += record.bytes;
  if (record.peer == nccl::all_peers) {
    (sends ? multicasts_ : added_up_).emplace(record.channel, record.rank);
    return;
  }
  if (record.action == TraceAction::copy) return;
  Connection& connection = connections_[key];
  (sends ? connection.sent : connection.received)
      .push_back({record.step, record.bytes, times.start, times.end});
}

void MessageCheck::check_connection(const Key& key, const Connection& connection) {
  const auto& sent = connection.sent;
  const auto& received = connection.received;
  const auto& [channel, from, to] = key;
  const bool spread = multicasts_.contains({channel, from});
  const bool added = added_up_.contains({channel, to});
  if (sent.empty() && spread) return;
  if (received.empty() && added) return;
  // Between heads of a switch both: what is scattered and what is gathered are two connections, and
  // of each one side goes through the switch.
  if (spread && added) return;
  const SimTime last = sent.empty() ? SimTime{} : sent.back().end;
  if (!log_.holds(Invariant::message_bytes, sent.size() == received.size())) {
    return expect(Invariant::message_bytes, false, last, key,
                  fmt::format("{} messages received", received.size()),
                  fmt::format("the {} that were sent", sent.size()));
  }
  const std::int64_t steps = steps_(from, to);
  std::size_t oldest = 0;  // message that may still be in the buffers
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const Message& one = sent[i];
    const Message& its = received[i];
    if (!log_.holds(Invariant::message_bytes, one.bytes == its.bytes && one.step == its.step)) {
      expect(Invariant::message_bytes, false, its.end, key,
             fmt::format("{} bytes of step {} received", its.bytes, its.step),
             fmt::format("{} bytes of step {}", one.bytes, one.step));
    }
    if (!log_.holds(Invariant::message_order, its.start >= one.start)) {
      expect(Invariant::message_order, false, its.start, key,
             "a receiver at work from " + simcore::to_text(its.start),
             "none before the sender is, at " + simcore::to_text(one.start));
    }
    while (sent[oldest].step + steps <= one.step) ++oldest;
    if (oldest == 0) continue;
    const SimTime freed = received[oldest - 1].end;
    if (log_.holds(Invariant::message_credit, freed <= one.start)) continue;
    expect(Invariant::message_credit, false, one.start, key,
           fmt::format("step {} sent at {}", one.step, simcore::to_text(one.start)),
           fmt::format("not before step {} is out of the buffers, at {}", received[oldest - 1].step,
                       simcore::to_text(freed)));
  }
}

void MessageCheck::finish(SimTime end) {
  for (const auto& [key, connection] : connections_) check_connection(key, connection);
  if (log_.holds(Invariant::message_order, last_ <= end)) return;
  log_.violated({Invariant::message_order, last_, where_,
                 "a message until " + simcore::to_text(last_),
                 "none after the end, at " + simcore::to_text(end)});
}

void MessageCheck::expect_received(cuda::CollectiveKind kind, double bytes, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    const double least =
        least_bytes(kind, bytes, static_cast<std::size_t>(ranks), static_cast<std::size_t>(rank))
            .received;
    const auto got = static_cast<double>(received_[rank]);
    if (log_.holds(Invariant::collective_parts, got >= least - 0.5)) continue;
    log_.violated({Invariant::collective_parts, last_, fmt::format("{}, rank {}", where_, rank),
                   fmt::format("{:.17g} bytes received", got),
                   fmt::format("at least {:.17g} bytes", least)});
  }
}

}  // namespace shardsim::scenario
