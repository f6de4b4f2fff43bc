#include "models/scenario/checks/collective_check.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "models/cuda/collective_name.hpp"
#include "simcore/quantity.hpp"

namespace shardsim::scenario {

using cuda::CollectiveKind;
using simcore::SimTime;

namespace {

constexpr double relative = 1e-9;

}  // namespace

LeastBytes least_bytes(CollectiveKind kind, double bytes, std::size_t ranks, std::size_t place) {
  if (ranks < 2) return {};
  const double part = bytes / static_cast<double>(ranks);
  const double rest = bytes - part;
  const bool root = place == 0;
  switch (kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::sendrecv:
      return {bytes, bytes};
    case CollectiveKind::all_gather:
      return {rest, part};
    case CollectiveKind::reduce_scatter:
      return {part, rest};
    case CollectiveKind::broadcast:
      return {root ? 0 : bytes, root ? bytes : 0};
    case CollectiveKind::reduce:
      return {root ? bytes : 0, root ? 0 : bytes};
    case CollectiveKind::alltoall:
      return {rest, rest};
  }
  return {};
}

PortBytes::PortBytes(const network::Graph& graph)
    : graph_(graph),
      gpu_of_vertex_(graph.vertices().size(), -1),
      in_(static_cast<std::size_t>(graph.gpu_count()), 0),
      out_(static_cast<std::size_t>(graph.gpu_count()), 0) {
  for (int gpu = 0; gpu < graph.gpu_count(); ++gpu) gpu_of_vertex_[graph.gpu(gpu)] = gpu;
}

void PortBytes::add(std::span<const network::LinkUse> links) {
  const auto all = graph_.links();
  for (const network::LinkUse& use : links) {
    if (const int gpu = gpu_of_vertex_[all[use.link].to]; gpu >= 0) {
      in_[static_cast<std::size_t>(gpu)] += use.weight;
      touched_.push_back(gpu);
    }
    if (const int gpu = gpu_of_vertex_[all[use.link].from]; gpu >= 0) {
      out_[static_cast<std::size_t>(gpu)] += use.weight;
      touched_.push_back(gpu);
    }
  }
}

void PortBytes::clear() {
  for (const int gpu : touched_) {
    in_[static_cast<std::size_t>(gpu)] = 0;
    out_[static_cast<std::size_t>(gpu)] = 0;
  }
  touched_.clear();
}

void check_parts(const PortBytes& ports, double flow_bytes, const std::vector<int>& group,
                 CollectiveKind kind, double bytes, SimTime now, const std::string& where,
                 CheckLog& log) {
  for (std::size_t place = 0; place < group.size(); ++place) {
    const LeastBytes least = least_bytes(kind, bytes, group.size(), place);
    const double in = ports.in(group[place]) * flow_bytes;
    const double out = ports.out(group[place]) * flow_bytes;
    const double slack = relative * bytes + 1;
    const bool enough = in >= least.received - slack && out >= least.sent - slack;
    if (log.holds(Invariant::collective_parts, enough)) continue;
    const bool starved = in < least.received - slack;
    log.violated(
        {Invariant::collective_parts, now, fmt::format("{}, GPU {}", where, group[place]),
         fmt::format("{:.17g} bytes {}", starved ? in : out, starved ? "received" : "sent"),
         fmt::format("at least {:.17g} bytes", starved ? least.received : least.sent)});
  }
}

CollectiveCheck::CollectiveCheck(const network::Graph& graph, bool compare_parts, CheckLog& log)
    : compare_parts_(compare_parts), log_(log), ports_(graph) {}

void CollectiveCheck::listen(nccl::RingBackend& backend, network::FlowNetwork& flows) {
  backend.member_arrived.listen([this](const nccl::ArrivalRecord& record) { arrived(record); });
  backend.collective_finished.listen(
      [this](const nccl::CollectiveRecord& record) { finished(record); });
  flows.flow_started.listen([this](const network::FlowRecord& record) { flow_started(record); });
}

std::string CollectiveCheck::where(const nccl::CollectiveRecord& record) const {
  const Instance& instance = instances_[record.instance];
  return fmt::format("{} number {} of communicator '{}' of rank {}",
                     cuda::collective_name(record.spec->kind), instance.ended.size(),
                     instance.spec->role, instance.spec->rank_of(0));
}

void CollectiveCheck::arrived(const nccl::ArrivalRecord& record) {
  Instance& instance = instances_[record.instance];
  instance.arrivals.resize(instance.spec->members, SimTime::never());
  SimTime& arrival = instance.arrivals[record.member];
  const bool first = arrival == SimTime::never();
  if (!log_.holds(Invariant::collective_members, first)) {
    log_.violated({Invariant::collective_members, record.time,
                   fmt::format("communicator '{}', rank {}", instance.spec->role,
                               instance.spec->rank_of(record.member)),
                   "a second arrival", "one arrival of each member"});
    return;
  }
  arrival = record.time;
  ++instance.arrived;
}

void CollectiveCheck::flow_started(const network::FlowRecord& record) {
  Instance& instance = instances_[static_cast<std::size_t>(record.token)];
  instance.links.assign(record.links.begin(), record.links.end());
  instance.flow_bytes = record.bytes;
  instance.flows = true;
}

void CollectiveCheck::check_order(const Instance& instance, const nccl::CollectiveRecord& record) {
  const bool complete = instance.arrived == instance.spec->members;
  if (!log_.holds(Invariant::collective_members, complete)) {
    log_.violated({Invariant::collective_members, record.end, where(record),
                   fmt::format("{} members when it ended", instance.arrived),
                   fmt::format("{} members", instance.spec->members)});
  }
  SimTime last;
  for (const SimTime arrival : instance.arrivals) {
    if (arrival != SimTime::never()) last = std::max(last, arrival);
  }
  if (!log_.holds(Invariant::collective_order, record.last_arrival == last)) {
    log_.violated({Invariant::collective_order, record.end, where(record),
                   "a start at " + simcore::to_text(record.last_arrival),
                   "one when the last member arrives, at " + simcore::to_text(last)});
  }
  const bool ordered = record.first_arrival <= record.last_arrival &&
                       record.last_arrival <= record.data_start && record.data_start <= record.end;
  if (!log_.holds(Invariant::collective_order, ordered)) {
    log_.violated(
        {Invariant::collective_order, record.end, where(record),
         fmt::format("arrivals {} to {}, data from {}", simcore::to_text(record.first_arrival),
                     simcore::to_text(record.last_arrival), simcore::to_text(record.data_start)),
         "these times in order before the end"});
  }
  if (instance.ended.empty()) return;
  const SimTime before = instance.ended.back().end;
  if (log_.holds(Invariant::collective_order, before <= record.last_arrival)) return;
  log_.violated({Invariant::collective_order, record.end, where(record),
                 "a start at " + simcore::to_text(record.last_arrival),
                 "none before the one before has ended, at " + simcore::to_text(before)});
}

void CollectiveCheck::check_bytes(const Instance& instance, const nccl::CollectiveRecord& record) {
  const double moved = instance.flows ? instance.flow_bytes : 0;
  if (!log_.holds(Invariant::collective_bytes, moved == record.flow_bytes)) {
    log_.violated({Invariant::collective_bytes, record.end, where(record),
                   fmt::format("{:.17g} bytes in its flow", moved),
                   fmt::format("{:.17g} bytes", record.flow_bytes)});
  }
  if (!compare_parts_ || record.spec->fixed_time || !instance.flows) return;
  ports_.add(instance.links);
  for (const std::vector<int>& group : instance.spec->groups) {
    check_parts(ports_, moved, group, record.spec->kind,
                static_cast<double>(record.spec->bytes.count), record.end, where(record), log_);
  }
  ports_.clear();
}

void CollectiveCheck::finished(const nccl::CollectiveRecord& record) {
  Instance& instance = instances_[record.instance];
  check_order(instance, record);
  check_bytes(instance, record);
  instance.ended.push_back({record.last_arrival, record.end});
  instance.arrivals.assign(instance.spec->members, SimTime::never());
  instance.arrived = 0;
  instance.flows = false;
}

}  // namespace shardsim::scenario
