#include "models/nccl/ring_backend.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include <fmt/format.h>

#include "models/cuda/collective_name.hpp"

namespace shardsim::nccl {

using cuda::CollectiveSpec;

namespace {

enum EventKind : std::uint32_t { data_event, end_event };

// What members must agree on. Names of communicators and CPU costs are each rank's own affair.
bool agree(const CollectiveSpec& a, const CollectiveSpec& b) {
  return a.kind == b.kind && a.bytes == b.bytes && a.type == b.type && a.fixed_time == b.fixed_time;
}

std::string_view name_of(gpu::DataType type) {
  switch (type) {
    case gpu::DataType::fp32:
      return "fp32";
    case gpu::DataType::tf32:
      return "tf32";
    case gpu::DataType::bf16:
      return "bf16";
    case gpu::DataType::fp16:
      return "fp16";
    case gpu::DataType::fp8:
      return "fp8";
  }
  return "unknown";
}

std::string describe(const CollectiveSpec& spec) {
  std::string text = fmt::format("{} of {} bytes in {}", cuda::collective_name(spec.kind),
                                 spec.bytes.count, name_of(spec.type));
  if (spec.fixed_time) text += " taking " + simcore::to_text(*spec.fixed_time);
  return text;
}

std::string text_of(const CollectiveMismatch& m) {
  return fmt::format(
      "ranks {} and {} disagree in communicator '{}': rank {} calls {}, rank {} calls {}",
      m.first_rank, m.other_rank, m.role, m.first_rank, describe(m.first), m.other_rank,
      describe(m.other));
}

std::string text_of(const NoRoute& n) {
  return fmt::format("no route from rank {} to rank {} of communicator '{}'", n.from_rank,
                     n.to_rank, n.role);
}

}  // namespace

std::string to_text(const CollectiveFailure& failure) {
  return std::visit([](const auto& f) { return text_of(f); }, failure);
}

RingBackend::RingBackend(const network::Graph& graph, network::FlowNetwork& flows,
                         simcore::EventQueue& queue, const CollectiveModel& model)
    : graph_(graph), flows_(flows), queue_(queue), model_(model) {}

RingBackend::~RingBackend() = default;

std::uint32_t RingBackend::add_communicator(CommunicatorSpec spec) {
  assert(spec.members > 0 && !spec.groups.empty());
  instances_.emplace_back().spec = std::move(spec);
  return static_cast<std::uint32_t>(instances_.size() - 1);
}

std::expected<void, NoRoute> RingBackend::prepare(std::uint32_t instance) {
  Instance& in = instances_[instance];
  if (in.plan) return {};
  std::vector<CommunicatorPlan> plans;
  for (const std::vector<int>& group : in.spec.groups) {
    const CommunicatorSpec one{in.spec.role, {group}, 1, {}};
    if (may_have_no_route()) {
      auto plan = CommunicatorPlan::make(graph_, one, outages_);
      if (!plan) return std::unexpected(std::move(plan.error()));
      plans.push_back(std::move(*plan));
    } else {
      plans.push_back(CommunicatorPlan::outline(graph_, one));
    }
  }
  in.plan = std::make_unique<CommunicatorPlan>(std::move(plans.front()));
  plans.erase(plans.begin());
  in.others = std::move(plans);
  return {};
}

// A cluster whose nodes have shapes has been found to be connected.
bool RingBackend::may_have_no_route() const {
  return outages_ != nullptr || graph_.shape_of_node(0) < 0;
}

const CommunicatorPlan* RingBackend::plan(std::uint32_t instance) const {
  return instances_[instance].plan.get();
}

std::optional<RingBackend::Moving> RingBackend::slowest_moving() const {
  std::optional<Moving> slowest;
  for (const Instance& in : instances_) {
    if (!in.flow) continue;
    simcore::BitRate rate = flows_.rate(*in.flow);
    if (rate.bytes_per_second <= 0) continue;
    if (in.running != nullptr) rate.bytes_per_second *= in.running->timing.share;
    if (slowest && !(rate < slowest->rate)) continue;
    slowest = Moving{in.spec.role, in.record.spec, rate, slowest_link(in)};
  }
  return slowest;
}

/// Of the first group's links, as they are now: by its rate, or by its latency where that leaves
/// the flow no more than a rate of its own.
std::optional<network::LinkId> RingBackend::slowest_link(const Instance& in) const {
  if (in.running == nullptr || in.running->timing.traffic == nullptr) return std::nullopt;
  std::optional<network::LinkId> slowest;
  double longest = 0;
  for (const network::LinkUse& use : in.running->timing.traffic->uses) {
    const double seconds = use.weight / flows_.bandwidth(use.link).bytes_per_second;
    if (slowest && !(seconds > longest)) continue;
    slowest = use.link;
    longest = seconds;
  }
  const double cap = in.running->timing.cap.bytes_per_second;
  const bool by_latency =
      in.record.data_start - in.record.last_arrival >= queue_.now() - in.record.data_start;
  if (!slowest || !(by_latency || (cap > 0 && cap * longest < 1))) return slowest;
  for (const network::LinkUse& use : in.running->timing.traffic->uses) {
    const auto links = graph_.links();
    if (links[use.link].latency > links[*slowest].latency) slowest = use.link;
  }
  return slowest;
}

void RingBackend::note_duration(const Instance& in) {
  constexpr simcore::SimTime noteworthy = simcore::SimTime::microseconds(1'000'000);
  const simcore::SimTime time = in.record.end - in.record.last_arrival;
  if (time < noteworthy || (longest_ && time <= longest_->time)) return;
  longest_ = Longest{in.spec.role, in.record.spec, time,
                     in.record.data_start - in.record.last_arrival, slowest_link(in)};
}

void RingBackend::fail(std::uint32_t instance, CollectiveFailure failure) {
  Instance& in = instances_[instance];
  if (in.failure) return;
  in.failure = std::move(failure);
  in.failed_at = queue_.now();
}

void RingBackend::arrive(std::uint32_t instance, std::uint32_t member, const CollectiveSpec& spec) {
  Instance& in = instances_[instance];
  assert(member < in.spec.members && in.arrived < in.spec.members);
  if (in.arrived == 0) {
    in.record = CollectiveRecord{};
    in.record.instance = instance;
    in.record.spec = &spec;
    in.record.first_arrival = queue_.now();
    in.first_member = member;
  } else if (!agree(*in.record.spec, spec)) {
    fail(instance, CollectiveMismatch{instance, in.spec.role, in.spec.rank_of(in.first_member),
                                      *in.record.spec, in.spec.rank_of(member), spec});
    return;
  }
  member_arrived(ArrivalRecord{instance, member, queue_.now()});
  if (++in.arrived == in.spec.members) begin(instance);
}

// Members are told by an event even when nothing takes time: they are in the middle of arriving.
void RingBackend::begin(std::uint32_t instance) {
  Instance& in = instances_[instance];
  in.record.last_arrival = queue_.now();
  in.running = nullptr;
  listener_->collective_began(instance);
  if (in.record.spec->fixed_time) {
    in.record.data_start = queue_.now();
    queue_.schedule(queue_.now() + *in.record.spec->fixed_time, *this, end_event, instance);
    return;
  }
  in.running = find_timing(instance, *in.record.spec);
  if (in.running == nullptr) return;
  const CollectiveTiming& timing = in.running->timing;
  in.record.algorithm = timing.algorithm;
  in.record.protocol = timing.protocol;
  in.record.channels = timing.channels;
  in.record.flow_bytes = timing.flow_bytes / timing.share;
  in.record.data_start = queue_.now() + timing.latency;
  const bool moves = timing.traffic != nullptr && timing.flow_bytes > 0;
  queue_.schedule(in.record.data_start, *this, moves ? data_event : end_event, instance);
}

const CollectiveTiming* RingBackend::timing(std::uint32_t instance, const CollectiveSpec& spec) {
  const Prepared* prepared = find_timing(instance, spec);
  return prepared == nullptr ? nullptr : &prepared->timing;
}

const RingBackend::Prepared* RingBackend::find_timing(std::uint32_t instance,
                                                      const CollectiveSpec& spec) {
  Instance& in = instances_[instance];
  const Key key{spec.kind, spec.bytes.count, spec.type};
  if (const auto known = in.prepared.find(key); known != in.prepared.end()) return &known->second;
  if (auto ready = prepare(instance); !ready) {
    fail(instance, std::move(ready.error()));
    return nullptr;
  }
  auto timing = model_.timing(spec, *in.plan);
  if (!timing) {
    fail(instance, std::move(timing.error()));
    return nullptr;
  }
  timing->share = in.shares.try_emplace(key, timing->share).first->second;
  Prepared prepared{*timing, 0};
  if (timing->traffic != nullptr) {
    const auto links = links_of(in, *timing->traffic, timing->share);
    if (!links) {
      fail(instance, links.error());
      return nullptr;
    }
    prepared.links = *links;
  }
  return &in.prepared.emplace(key, prepared).first->second;
}

/// The links of all groups that move in lockstep, where the first group's are those of `traffic`.
/// To the network a flow is so many bytes that its rate compares with a ring's: 1 / share of them
/// for each of its own, with as much less weight.
std::expected<network::LinkSetId, NoRoute> RingBackend::links_of(Instance& in,
                                                                 const Traffic& traffic,
                                                                 double share) {
  if (in.others.empty() && share == 1) return flows_.add_link_set(traffic.uses);
  const Pattern pattern = *in.plan->pattern_of(traffic);
  std::vector<network::LinkUse> all = traffic.uses;
  for (CommunicatorPlan& other : in.others) {
    other.follow_as(*in.plan);  // timing the first group has told it whose rings to take
    const auto its = other.traffic(pattern);
    if (!its) return std::unexpected(its.error());
    all.insert(all.end(), (*its)->uses.begin(), (*its)->uses.end());
  }
  std::ranges::stable_sort(all, {}, &network::LinkUse::link);
  std::vector<network::LinkUse> summed;
  for (const network::LinkUse& use : all) {
    if (summed.empty() || summed.back().link != use.link) {
      summed.push_back(use);
    } else {
      summed.back().weight += use.weight;
    }
  }
  for (network::LinkUse& use : summed) use.weight *= share;
  return flows_.add_link_set(summed);
}

void RingBackend::start_data(std::uint32_t instance) {
  Instance& in = instances_[instance];
  if (in.running == nullptr) return;  // an outage has left it without a way
  const CollectiveTiming& timing = in.running->timing;
  const simcore::BitRate cap{timing.cap.bytes_per_second / timing.share};
  in.flow = flows_.start(in.running->links, timing.flow_bytes / timing.share, cap, *this, instance);
}

void RingBackend::outages_changed(const network::LinkOutages& outages) {
  outages_ = &outages;
  for (std::uint32_t instance = 0; instance < instances_.size(); ++instance) go_around(instance);
}

// A collective under way keeps its latency and its cap; only its data take other ways.
void RingBackend::go_around(std::uint32_t instance) {
  Instance& in = instances_[instance];
  if (!in.plan) return;
  const bool running = in.arrived == in.spec.members && in.running != nullptr;
  in.prepared.clear();
  in.plan.reset();
  in.others.clear();
  in.running = nullptr;
  if (!running) return;
  in.running = find_timing(instance, *in.record.spec);
  if (in.running != nullptr && in.flow) flows_.move(*in.flow, in.running->links);
}

void RingBackend::on_event(const simcore::Event& event) {
  const auto instance = static_cast<std::uint32_t>(event.payload);
  if (event.kind == data_event) {
    start_data(instance);
  } else {
    finish(instance);
  }
}

void RingBackend::flow_finished(network::FlowId, std::uint64_t token) {
  finish(static_cast<std::uint32_t>(token));
}

void RingBackend::finish(std::uint32_t instance) {
  Instance& in = instances_[instance];
  in.record.end = queue_.now();
  in.flow.reset();
  note_duration(in);
  collective_finished(in.record);
  // A member may arrive with its next collective while the others are still being told.
  in.arrived = 0;
  const std::uint32_t members = in.spec.members;
  for (std::uint32_t member = 0; member < members; ++member) {
    listener_->member_finished(instance, member);
  }
}

}  // namespace shardsim::nccl
