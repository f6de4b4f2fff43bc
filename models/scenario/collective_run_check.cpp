// Collectives alone on a cluster, held to their invariants.
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "models/cuda/collective_name.hpp"
#include "models/scenario/checks/collective_check.hpp"
#include "models/scenario/checks/flow_check.hpp"
#include "models/scenario/checks/message_check.hpp"
#include "models/scenario/collective_run.hpp"

namespace shardsim::scenario {

using simcore::SimTime;

namespace {

class NobodyListens final : public network::FlowListener {
 public:
  void flow_finished(network::FlowId, std::uint64_t) override {}
};

/// Steps that a connection's buffer holds; where a network lies between there is one on either
/// side.
constexpr std::int64_t buffered_steps = 8;

}  // namespace

std::uint64_t CollectiveRun::check_flow(const cuda::CollectiveSpec& spec, const std::string& where,
                                        CheckLog& log) {
  const auto done = model_.carry_out(spec, plan_, nccl::DataPath::flow);
  if (!done || done->timing.traffic == nullptr || done->timing.flow_bytes <= 0) return 0;
  const nccl::CollectiveTiming& timing = done->timing;
  const auto& uses = timing.traffic->uses;
  PortBytes ports(cluster_->graph);
  ports.add(uses);
  std::vector<int> group(static_cast<std::size_t>(cluster_->ranks()));
  std::iota(group.begin(), group.end(), 0);
  check_parts(ports, timing.flow_bytes, group, spec.kind, static_cast<double>(spec.bytes.count),
              SimTime{}, where, log);

  simcore::EventQueue queue;
  network::FlowNetwork flows(cluster_->graph, queue);
  FlowCheck check(cluster_->graph, log);
  check.listen(flows, queue);
  NobodyListens nobody;
  flows.start(uses, timing.flow_bytes, timing.cap, nobody, 0);
  while (queue.step()) {
  }
  check.compare(queue.now(), flows);
  check.all_ended(queue.now());
  double rate = timing.traffic->rate.bytes_per_second;
  if (timing.cap.bytes_per_second > 0) rate = std::min(rate, timing.cap.bytes_per_second);
  if (rate > 0) {
    const double seconds = timing.flow_bytes / rate;
    const double off = std::abs(queue.now().seconds() - seconds);
    if (!log.holds(Invariant::closed_form, off <= 1e-12 + 1e-9 * seconds)) {
      log.violated({Invariant::closed_form, queue.now(), where,
                    fmt::format("{:.17g} s on the links", queue.now().seconds()),
                    fmt::format("{:.17g} s", seconds)});
    }
  }
  return queue.handled();
}

std::expected<std::uint64_t, std::string> CollectiveRun::check_messages(
    const CollectiveSettings& settings, const CollectiveRow& row, const std::string& where,
    CheckLog& log) {
  cuda::CollectiveSpec spec;
  spec.kind = settings.kind;
  spec.bytes.count = row.bytes;
  spec.type = settings.type;
  const auto done = model_.carry_out(spec, plan_, nccl::DataPath::chunk);
  if (!done || done->messages == 0) return 0;
  if (done->messages > most_checked) {
    return std::unexpected(fmt::format("{} has {} messages: more than {} are not checked", where,
                                       done->messages, most_checked));
  }
  const network::Graph& graph = cluster_->graph;
  const auto steps = [&graph](int from, int to) {
    return buffered_steps * (graph.node_of(from) == graph.node_of(to) ? 1 : 2);
  };
  MessageCheck check(where, steps, log);
  const auto traced = model_.trace(
      spec, plan_, [&check](const nccl::TraceRecord& record, const nccl::TraceTimes& times) {
        check.row(record, times);
      });
  if (!traced) return std::unexpected(fmt::format("{}: {}", where, traced.error()));
  // Times of a trace are rounded from microseconds in floating point.
  check.finish(SimTime::from_seconds(row.time_us * 1e-6) + SimTime::picoseconds(10));
  check.expect_received(settings.kind, static_cast<double>(row.bytes), cluster_->ranks());
  return check.rows();
}

std::expected<std::uint64_t, std::string> CollectiveRun::check(const CollectiveSettings& settings,
                                                               const CollectiveRow& row,
                                                               CheckLog& log) {
  const std::string where =
      fmt::format("{} of {} bytes", cuda::collective_name(settings.kind), row.bytes);
  if (settings.fidelity == CollectiveFidelity::chunk) {
    return check_messages(settings, row, where, log);
  }
  if (settings.fidelity == CollectiveFidelity::model) return 0;
  cuda::CollectiveSpec spec;
  spec.kind = settings.kind;
  spec.bytes.count = row.bytes;
  spec.type = settings.type;
  return check_flow(spec, where, log);
}

}  // namespace shardsim::scenario
