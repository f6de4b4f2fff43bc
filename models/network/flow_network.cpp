#include "models/network/flow_network.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>
#include <vector>

#include "models/network/completion_tree.hpp"
#include "models/network/flow_records.hpp"
#include "models/network/link_sets.hpp"
#include "models/network/max_min_solver.hpp"
#include "models/network/sharing_graph.hpp"

namespace shardsim::network {

using simcore::BitRate;
using simcore::SimTime;

namespace {
// Rates are found after everything else that happens at the same time.
constexpr std::int32_t solve_priority = 1'000'000;
// A rate that differs by rounding only is left as it is, and with it the finish times.
constexpr double same_rate = 1e-14;
}  // namespace

struct FlowNetwork::State final : simcore::EventReceiver {
  enum EventKind : std::uint32_t { solve_event, completion_event, immediate_event };

  State(const Graph& graph, simcore::EventQueue& event_queue, const FlowNetwork& network)
      : queue(event_queue),
        probes(network),
        sharing(graph.links()),
        sets(sharing),
        solver(sharing) {}

  void on_event(const simcore::Event& event) override;
  FlowId start(LinkSetId set, double bytes, double cap, FlowListener& listener,
               std::uint64_t token);
  void move(FlowId id, LinkSetId set);
  double bytes_left(FlowId id) const;
  void join(FlowId id, LinkSetId set, double cap);
  void tell(const simcore::Probe<FlowRecord>& probe, FlowId id, LinkSetId set, double cap) const;
  void set_bandwidth(LinkId link, double bandwidth);
  double rate(FlowId flow);
  LinkStatistics statistics(LinkId link) const;
  void reset_statistics();

  VariableId find_variable(LinkSetId set, double cap);
  VariableId add_variable(LinkSetId set, double cap);
  void remove_variable(VariableId variable);
  void fetch_removal(VariableId variable) const;
  void note_change(VariableId variable);
  void schedule_solve();
  void solve();
  void report_change(VariableId variable);
  void take_rate(VariableId variable, double rate);
  void set_first(VariableProgress& progress, FlowId first);
  void set_finish(VariableId variable);
  void schedule_completion();
  void complete();
  void end_first_flow(VariableId variable);
  void deliver(FlowId flow);
  double moved_by_running(VariableId variable) const;
  double present_share(const LinkClass& link_class) const;

  simcore::EventQueue& queue;
  const FlowNetwork& probes;
  SharingGraph sharing;
  LinkSets sets;
  MaxMinSolver solver;
  FlowPool flows;
  LargeArray<VariableProgress> variables;
  LargeArray<VariableId> free_variables;
  CompletionTree completions;
  LargeArray<VariableId> changed;
  LargeArray<VariableId> due;   ///< scratch of complete()
  LargeArray<FlowId> finished;  ///< the same
  simcore::EventHandle solve_handle;
  bool solve_pending = false;
  simcore::EventHandle completion_handle;
  SimTime completion_time = SimTime::never();
  std::uint64_t sequence = 0;
  FlowCounters counters;
};

void FlowNetwork::State::on_event(const simcore::Event& event) {
  switch (event.kind) {
    case solve_event:
      solve();
      break;
    case completion_event:
      completion_time = SimTime::never();
      complete();
      break;
    default:
      deliver(static_cast<FlowId>(event.payload));
  }
}

// --- Variables ---

VariableId FlowNetwork::State::find_variable(LinkSetId set, double cap) {
  VariableId variable = sets.at(set).first_variable;
  while (variable != none && sharing.cap(variable) != cap) {
    variable = variables[variable].next_in_set;
  }
  return variable != none ? variable : add_variable(set, cap);
}

VariableId FlowNetwork::State::add_variable(LinkSetId set, double cap) {
  VariableId variable = 0;
  if (free_variables.empty()) {
    variable = static_cast<VariableId>(variables.size());
    variables.emplace_back();
    sharing.grow_variables(variables.size());
    completions.grow(variables.size());
  } else {
    variable = free_variables.back();
    free_variables.pop_back();
  }
  LinkSet& link_set = sets.at(set);
  VariableProgress& progress = variables[variable];
  progress = VariableProgress{};
  progress.base_time = queue.now();
  progress.set = set;
  progress.next_in_set = std::exchange(link_set.first_variable, variable);
  ++link_set.variables;
  sharing.refresh(link_set.classes);
  sharing.attach(variable, link_set.classes, cap, queue.now());
  sharing.loads()[variable] = VariableLoad{infinity, 0, 0};
  return variable;
}

void FlowNetwork::State::remove_variable(VariableId variable) {
  const VariableProgress& progress = variables[variable];
  sharing.detach(variable, progress.completed, queue.now());
  LinkSet& set = sets.at(progress.set);
  VariableId* link = &set.first_variable;
  while (*link != variable) link = &variables[*link].next_in_set;
  *link = progress.next_in_set;
  --set.variables;
  sets.release_unused(progress.set);
  free_variables.push_back(variable);
}

/// Asks for the memory that removing the variable will touch.
void FlowNetwork::State::fetch_removal(VariableId variable) const {
  sharing.fetch_uses(variable);
  sets.fetch(variables[variable].set);
}

void FlowNetwork::State::note_change(VariableId variable) {
  schedule_solve();
  if (variables[variable].changed != 0) return;
  variables[variable].changed = 1;
  changed.push_back(variable);
}

double FlowNetwork::State::moved_by_running(VariableId variable) const {
  const std::uint32_t count = sharing.loads()[variable].count;
  if (count == 0) return 0;
  const VariableProgress& progress = variables[variable];
  return count * progress.moved_at(queue.now()) - progress.begins;
}

// --- Start and end of flows ---

FlowId FlowNetwork::State::start(LinkSetId set, double bytes, double cap, FlowListener& listener,
                                 std::uint64_t token) {
  assert(bytes >= 0 && std::isfinite(bytes) && cap >= 0);
  Flow flow;
  flow.bytes = bytes;
  flow.sequence = sequence++;
  flow.token = token;
  flow.listener = &listener;
  if (bytes <= 0 || (sets.at(set).links.size == 0 && cap <= 0)) {
    const FlowId id = flows.add(flow);
    tell(probes.flow_started, id, set, cap);
    queue.schedule(queue.now(), *this, immediate_event, id);
    sets.release_unused(set);
    return id;
  }
  const FlowId id = flows.add(flow);
  tell(probes.flow_started, id, set, cap);
  join(id, set, cap);
  return id;
}

void FlowNetwork::State::tell(const simcore::Probe<FlowRecord>& probe, FlowId id, LinkSetId set,
                              double cap) const {
  if (!probe.has_listeners()) return;
  const Flow& flow = flows[id];
  probe(FlowRecord{id, flow.token, flow.bytes, BitRate{cap}, sets.links(set)});
}

/// The flow, with the bytes that stand in its record, runs over the set from now on.
void FlowNetwork::State::join(FlowId id, LinkSetId set, double cap) {
  const VariableId variable = find_variable(set, cap);
  VariableProgress& progress = variables[variable];
  std::uint32_t& count = sharing.loads()[variable].count;
  if (count == 0) {  // progress counts from 0 again: nothing is lost to large numbers
    progress.moved = 0;
    progress.begins = 0;
    progress.base_time = queue.now();
  }
  Flow& flow = flows[id];
  flow.variable = variable;
  flow.begin = progress.moved_at(queue.now());
  flow.target = flow.begin + flow.bytes;
  progress.begins += flow.begin;
  ++count;
  set_first(progress, flows.insert(progress.first_to_end, id));
  note_change(variable);
}

double FlowNetwork::State::bytes_left(FlowId id) const {
  const Flow& flow = flows[id];
  if (flow.variable == none) return 0;
  return std::clamp(flow.target - variables[flow.variable].moved_at(queue.now()), 0.0, flow.bytes);
}

void FlowNetwork::State::move(FlowId id, LinkSetId set) {
  const VariableId old = flows[id].variable;
  if (old == none || variables[old].set == set) return sets.release_unused(set);
  const double left = bytes_left(id);
  const double cap = sharing.cap(old);
  VariableProgress& progress = variables[old];
  set_first(progress, flows.take_out(progress.first_to_end, id));
  progress.completed += flows[id].bytes - left;
  progress.begins -= flows[id].begin;
  --sharing.loads()[old].count;
  set_finish(old);
  note_change(old);
  flows[id].bytes = left;
  tell(probes.flow_moved, id, set, cap);
  if (sets.at(set).links.size == 0 && cap <= 0) {
    flows[id].variable = none;
    queue.schedule(queue.now(), *this, immediate_event, id);
    return sets.release_unused(set);
  }
  join(id, set, cap);
}

void FlowNetwork::State::deliver(FlowId flow) {
  FlowListener& listener = *flows[flow].listener;
  const std::uint64_t token = flows[flow].token;
  probes.flow_ended(flow);
  flows.remove(flow);
  ++counters.flows;
  listener.flow_finished(flow, token);
}

void FlowNetwork::State::set_first(VariableProgress& progress, FlowId first) {
  progress.first_to_end = first;
  progress.next_target = first == none ? infinity : flows[first].target;
}

void FlowNetwork::State::end_first_flow(VariableId variable) {
  VariableProgress& progress = variables[variable];
  const FlowId ended = progress.first_to_end;
  set_first(progress, flows.remove_root(ended));
  progress.completed += flows[ended].bytes;
  progress.begins -= flows[ended].begin;
  --sharing.loads()[variable].count;
  finished.push_back(ended);
}

void FlowNetwork::State::complete() {
  finished.clear();
  due.clear();
  completions.collect_due(queue.now(), due);
  for (const VariableId variable : due) {
    do end_first_flow(variable);
    while (variables[variable].first_end() <= queue.now());
    set_finish(variable);
    note_change(variable);
  }
  const auto started_first = [this](FlowId a, FlowId b) {
    return flows[a].sequence < flows[b].sequence;
  };
  if (!std::ranges::is_sorted(finished, started_first)) {
    std::ranges::sort(finished, started_first);
  }
  for (const FlowId flow : finished) deliver(flow);
}

void FlowNetwork::State::set_finish(VariableId variable) {
  completions.set(variable, std::max(variables[variable].first_end(), queue.now()));
}

void FlowNetwork::State::schedule_completion() {
  const SimTime time = completions.earliest();
  if (time == completion_time) return;
  queue.cancel(completion_handle);
  completion_time = time;
  if (time == SimTime::never()) return;
  completion_handle = queue.schedule(time, *this, completion_event, 0);
}

// --- Rates ---

void FlowNetwork::State::schedule_solve() {
  if (std::exchange(solve_pending, true)) return;
  solve_handle = queue.schedule(queue.now(), *this, solve_event, 0, solve_priority);
}

// Tells the solver what became of a variable; one whose last flow has ended is removed.
void FlowNetwork::State::report_change(VariableId variable) {
  VariableProgress& progress = variables[variable];
  VariableLoad& load = sharing.loads()[variable];
  const std::uint32_t before = progress.solved_count;
  progress.solved_count = load.count & ~(1U << 31U);
  if (load.count < before) {
    const double left = (before - load.count) * progress.rate;
    for (const VariableUse& use : sharing.uses(variable)) {
      solver.flows_left(use.link_class, progress.rate, use.weight * left);
    }
    solver.variable_lost_flows(variable);
  } else if (load.count > before) {
    load.rate = infinity;
    for (const VariableUse& use : sharing.uses(variable)) {
      solver.must_find_level(use.link_class, use.weight * before * progress.rate);
    }
    if (sharing.uses(variable).empty()) load.rate = sharing.cap(variable);
  }
}

void FlowNetwork::State::take_rate(VariableId variable, double rate) {
  VariableProgress& progress = variables[variable];
  if (std::abs(rate - progress.rate) <= same_rate * progress.rate) {
    sharing.loads()[variable].rate = progress.rate;
    return;
  }
  progress.moved = progress.moved_at(queue.now());
  progress.base_time = queue.now();
  progress.rate = rate;
  set_finish(variable);
}

void FlowNetwork::State::solve() {
  solve_pending = false;
  ++counters.solves;
  constexpr std::size_t ahead = 8;  // memory is asked for before it is needed
  for (std::size_t i = 0; i < changed.size(); ++i) {
    if (i + ahead < changed.size()) sharing.fetch_uses(changed[i + ahead]);
    report_change(changed[i]);
  }
  for (std::size_t i = 0; i < changed.size(); ++i) {
    if (i + ahead < changed.size()) fetch_removal(changed[i + ahead]);
    const VariableId variable = changed[i];
    if (sharing.loads()[variable].count > 0) continue;
    completions.set(variable, SimTime::never());
    remove_variable(variable);
  }
  const std::span<const VariableId> solved = solver.solve();
  counters.rates_solved += solved.size();
  for (std::size_t i = 0; i < solved.size(); ++i) {
    if (i + ahead < solved.size()) __builtin_prefetch(&variables[solved[i + ahead]], 1);
    take_rate(solved[i], sharing.loads()[solved[i]].rate);
  }
  for (const VariableId variable : changed) {
    variables[variable].changed = 0;
    if (sharing.loads()[variable].count == 0) continue;
    take_rate(variable, sharing.loads()[variable].rate);
    set_finish(variable);
  }
  changed.clear();
  schedule_completion();
  probes.rates_found();
}

double FlowNetwork::State::rate(FlowId flow) {
  const VariableId variable = flows[flow].variable;
  if (variable == none) return 0;
  if (solve_pending) {
    queue.cancel(solve_handle);
    solve();
  }
  return variables[variable].rate;
}

void FlowNetwork::State::set_bandwidth(LinkId link, double bandwidth) {
  assert(bandwidth >= 0 && std::isfinite(bandwidth));
  if (sharing.classes()[sharing.class_of(link)].bandwidth == bandwidth) return;
  const ClassId link_class = sharing.isolate(link);
  sharing.classes()[link_class].bandwidth = bandwidth;
  solver.must_find_level(link_class, 0);
  schedule_solve();
  probes.bandwidth_changed(link, BitRate{bandwidth});
}

// --- Statistics ---

double FlowNetwork::State::present_share(const LinkClass& link_class) const {
  double load = 0;
  for (const ClassUser& user : sharing.users(link_class)) {
    load += sharing.loads()[user.variable].count * user.weight * variables[user.variable].rate;
  }
  return link_class.bandwidth > 0 ? std::min(1.0, load / link_class.bandwidth) : 0;
}

LinkStatistics FlowNetwork::State::statistics(LinkId link) const {
  const LinkClass& link_class = sharing.classes()[sharing.class_of(link)];
  LinkStatistics result{link_class.bytes, link_class.busy, link_class.peak_share};
  for (const ClassUser& user : sharing.users(link_class)) {
    result.bytes +=
        user.weight * (variables[user.variable].completed + moved_by_running(user.variable));
  }
  if (link_class.users.size > 0) result.busy += queue.now() - link_class.busy_since;
  return result;
}

void FlowNetwork::State::reset_statistics() {
  for (VariableId variable = 0; variable < variables.size(); ++variable) {
    variables[variable].completed = -moved_by_running(variable);
  }
  for (LinkClass& link_class : sharing.classes()) {
    link_class.bytes = 0;
    link_class.busy = SimTime{};
    link_class.busy_since = queue.now();
    link_class.peak_share = present_share(link_class);
  }
  probes.statistics_begun();
}

// --- The public face ---

FlowNetwork::FlowNetwork(const Graph& graph, simcore::EventQueue& queue)
    : state_(std::make_unique<State>(graph, queue, *this)) {}

FlowNetwork::~FlowNetwork() = default;

LinkSetId FlowNetwork::add_link_set(std::span<const LinkUse> uses) {
  const LinkSetId set = state_->sets.intern(uses);
  state_->sets.at(set).kept = true;
  return set;
}

FlowId FlowNetwork::start(std::span<const LinkUse> uses, double bytes, BitRate cap,
                          FlowListener& listener, std::uint64_t token) {
  return start(state_->sets.intern(uses), bytes, cap, listener, token);
}

FlowId FlowNetwork::start(LinkSetId set, double bytes, BitRate cap, FlowListener& listener,
                          std::uint64_t token) {
  return state_->start(set, bytes, cap.bytes_per_second, listener, token);
}

void FlowNetwork::move(FlowId flow, LinkSetId set) { state_->move(flow, set); }

void FlowNetwork::move(FlowId flow, std::span<const LinkUse> uses) {
  state_->move(flow, state_->sets.intern(uses));
}

double FlowNetwork::bytes_left(FlowId flow) const { return state_->bytes_left(flow); }

BitRate FlowNetwork::rate(FlowId flow) const { return BitRate{state_->rate(flow)}; }

void FlowNetwork::set_bandwidth(LinkId link, BitRate bandwidth) {
  state_->set_bandwidth(link, bandwidth.bytes_per_second);
}

BitRate FlowNetwork::bandwidth(LinkId link) const {
  const SharingGraph& sharing = state_->sharing;
  return BitRate{sharing.classes()[sharing.class_of(link)].bandwidth};
}

LinkStatistics FlowNetwork::statistics(LinkId link) const { return state_->statistics(link); }

void FlowNetwork::reset_statistics() { state_->reset_statistics(); }

FlowCounters FlowNetwork::counters() const {
  FlowCounters counters = state_->counters;
  counters.classes_solved = state_->solver.classes_solved();
  return counters;
}

}  // namespace shardsim::network
