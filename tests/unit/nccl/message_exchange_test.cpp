// The clock of single messages: what is in flight on a connection, and when.
#include "models/nccl/chunk/message_exchange.hpp"

#include <map>
#include <vector>

#include <doctest/doctest.h>

namespace shardsim::nccl {
namespace {

using cuda::CollectiveKind;
using simcore::SimTime;

constexpr std::int64_t chunk_bytes = std::int64_t{1} << 20;
constexpr std::int64_t chunks = 64;

/// Rank 0's sends and rank 1's receives of one long message between two ranks, chunk by chunk.
struct Sent {
  std::map<std::int64_t, TraceTimes> sends;
  std::map<std::int64_t, TraceTimes> receives;
};

Sent exchange(int nodes, SimTime hop) {
  Traffic traffic;
  traffic.rate = simcore::BitRate{50e9};
  traffic.inside = {2, hop};
  traffic.between = {2, hop};
  MessageRules rules;
  rules.nodes = nodes;
  rules.ranks_per_node = 2 / nodes;
  rules.chunk_bytes = chunk_bytes;
  const TimedTransfer transfer{static_cast<double>(chunks * chunk_bytes), 2, nodes, &traffic};
  const MessageExchange made(rules, timing_constants(90, nullptr), CollectiveKind::sendrecv,
                             transfer);
  Sent sent;
  made.trace([&](const TraceRecord& record, const TraceTimes& times) {
    if (record.rank == 0 && record.action == TraceAction::send) sent.sends[record.step] = times;
    if (record.rank == 1 && record.action == TraceAction::receive) {
      sent.receives[record.step] = times;
    }
  });
  return sent;
}

TEST_CASE("a chunk is sent once its place in the FIFO has been emptied, not before") {
  // A hop that takes far longer than a chunk's bytes: the sender waits for credit.
  for (const int nodes : {1, 2}) {
    CAPTURE(nodes);
    const Sent sent = exchange(nodes, SimTime::microseconds(5000));
    const std::int64_t places = nodes == 1 ? 8 : 16;  // on either side of the network
    REQUIRE(static_cast<std::int64_t>(sent.sends.size()) == chunks);
    REQUIRE(static_cast<std::int64_t>(sent.receives.size()) == chunks);
    for (std::int64_t chunk = places; chunk < chunks; ++chunk) {
      CAPTURE(chunk);
      CHECK(sent.sends.at(chunk).start >= sent.receives.at(chunk - places).end);
    }
    CHECK(sent.sends.at(places).start == sent.receives.at(0).end);
    CHECK(sent.sends.at(places - 1).end < sent.receives.at(0).end);
  }
}

TEST_CASE("a quick hop needs no credit: chunks follow each other without a gap") {
  const Sent sent = exchange(1, SimTime::nanoseconds(100));
  for (std::int64_t chunk = 1; chunk < chunks; ++chunk) {
    CAPTURE(chunk);
    CHECK(sent.sends.at(chunk).start == sent.sends.at(chunk - 1).end);
  }
}

}  // namespace
}  // namespace shardsim::nccl
