#include "models/scenario/dependencies.hpp"

#include <algorithm>

namespace shardsim::scenario {

using cuda::Op;
using cuda::OpCode;
using simcore::SimTime;

namespace {

bool runs(OpCode code) { return code == OpCode::kernel || code == OpCode::collective; }

}  // namespace

Dependencies::Dependencies(const StepLog& log) : log_(log) {
  const auto& program = *log.program;
  const std::size_t count = log.last_op - log.first_op + 1;
  before_.assign(count, Node{});
  collective_order_.assign(count, 0);
  // What the tail of each stream, each event and each communicator waits for, in program order.
  std::vector<Node> stream_tail(program.streams.size());
  std::vector<Node> event_node(program.event_count);
  std::vector<Node> communicator_tail(program.communicators.size());
  std::vector<std::uint32_t> communicator_count(program.communicators.size(), 0);
  const auto later = [](const Node& a, const Node& b) {
    return b.op != none && (a.op == none || b.time > a.time) ? b : a;
  };
  for (std::uint32_t op = log.first_op; op <= log.last_op; ++op) {
    const Op& entry = program.ops[op];
    Node& before = before_[op - log.first_op];
    Node& tail = stream_tail[entry.stream];
    switch (entry.code) {
      case OpCode::kernel:
        before = tail;
        if (log.ran(op)) tail = Node{op, log.record(op).end};
        break;
      case OpCode::collective: {
        const cuda::CommunicatorId id = program.collectives[entry.index].communicator;
        before = later(tail, communicator_tail[id]);
        collective_order_[op - log.first_op] = communicator_count[id]++;
        if (log.ran(op)) tail = communicator_tail[id] = Node{op, log.record(op).end};
        break;
      }
      case OpCode::record_event:
        event_node[entry.index] = tail;
        break;
      case OpCode::stream_wait_event:
        tail = later(tail, event_node[entry.index]);
        break;
      case OpCode::cpu_wait_event:
        before = event_node[entry.index];
        break;
      case OpCode::device_synchronize:
        for (const Node& node : stream_tail) before = later(before, node);
        break;
      default:
        break;
    }
  }
  for (const Node& node : stream_tail) last_ = later(last_, node);
  find_optimizer();
}

/// Nothing is launched after it in a step: it ends where the CPU next waits, or with the step.
void Dependencies::find_optimizer() {
  const auto& program = *log_.program;
  for (std::uint32_t op = log_.first_op; op <= log_.last_op; ++op) {
    const Op& entry = program.ops[op];
    if (entry.code != OpCode::cpu_work) continue;
    const cuda::CpuWork& work = program.cpu_works[entry.index];
    if (work.kind != cuda::CpuWorkKind::optimizer) continue;
    const auto wait = std::ranges::upper_bound(log_.cpu_waits, op, {}, &cuda::CpuWaitRecord::op);
    optimizer_end_ = wait == log_.cpu_waits.end() ? log_.end : wait->from;
    optimizer_begin_ = optimizer_end_ - work.time;
  }
}

std::vector<std::uint32_t> Dependencies::stream_operations(cuda::StreamId stream) const {
  std::vector<std::uint32_t> operations;
  for (std::uint32_t op = log_.first_op; op <= log_.last_op; ++op) {
    const Op& entry = log_.program->ops[op];
    if (runs(entry.code) && entry.stream == stream && log_.ran(op)) operations.push_back(op);
  }
  return operations;
}

SimTime Dependencies::issue_time(std::uint32_t op) const { return log_.record(op).cpu_issue; }

SimTime Dependencies::transfer_start(std::uint32_t op) const {
  const cuda::CommunicatorId id =
      log_.program->collectives[log_.program->ops[op].index].communicator;
  const std::uint32_t order = collective_order_[op - log_.first_op];
  if (id >= log_.transfer_starts.size() || order >= log_.transfer_starts[id].size()) {
    return log_.record(op).start;
  }
  return std::max(log_.record(op).start, log_.transfer_starts[id][order]);
}

/// Explains the time in which `op` itself ran, up to `at`; returns when it began.
SimTime Dependencies::explain_run(std::uint32_t op, SimTime at, SimTime until,
                                  const std::function<void(const Cause&)>& visit) const {
  const auto say = [&](CauseKind kind, SimTime from, SimTime to) {
    from = std::max(from, until);
    if (to > from) visit(Cause{kind, op, from, to});
  };
  const cuda::OpRecord& record = log_.record(op);
  if (log_.program->ops[op].code == OpCode::collective) {
    const SimTime moved = std::min(at, transfer_start(op));
    say(CauseKind::collective, moved, at);
    say(CauseKind::peers, record.start, moved);
  } else {
    // The launches that the GPU waited for are at the end of the operation's time.
    const SimTime computed = std::min(at, record.end - record.launch_bound);
    say(CauseKind::cpu, computed, at);
    say(CauseKind::kernel, record.start, computed);
  }
  return std::min(at, record.start);
}

/// Explains the time from `until` to `at`, where `at` is when `op` began.
void Dependencies::walk(std::uint32_t op, SimTime at, SimTime until,
                        const std::function<void(const Cause&)>& visit) const {
  const auto say = [&](CauseKind kind, std::uint32_t what, SimTime from, SimTime to) {
    from = std::max(from, until);
    if (to > from) visit(Cause{kind, what, from, to});
  };
  while (at > until) {
    const Node dependency = before_[op - log_.first_op];
    const SimTime issued = issue_time(op);
    if (dependency.op == none || dependency.time < std::min(at, issued)) {
      // The CPU was last. It has been issuing since it last had to wait.
      say(CauseKind::launch, op, issued, at);
      at = std::min(at, issued);
      const auto after = std::upper_bound(
          log_.cpu_waits.begin(), log_.cpu_waits.end(), op,
          [](std::uint32_t value, const cuda::CpuWaitRecord& wait) { return value < wait.op; });
      auto wait = after;
      while (wait != log_.cpu_waits.begin() && std::prev(wait)->to == std::prev(wait)->from) --wait;
      if (wait == log_.cpu_waits.begin()) {
        say(CauseKind::cpu, op, until, at);
        return;
      }
      --wait;
      say(CauseKind::cpu, op, wait->to, at);
      at = std::min(at, wait->to);
      const Node awaited = before_[wait->op - log_.first_op];
      if (awaited.op == none) {
        say(CauseKind::cpu, wait->op, until, at);
        return;
      }
      op = awaited.op;
    } else {
      // Between the dependency's end and the start nothing else held it up: launch latency.
      say(CauseKind::launch, op, dependency.time, at);
      at = std::min(at, dependency.time);
      op = dependency.op;
    }
    at = explain_run(op, at, until, visit);
  }
}

void Dependencies::explain_start(std::uint32_t op, SimTime until,
                                 const std::function<void(const Cause&)>& visit) const {
  walk(op, log_.record(op).start, until, visit);
}

/// The CPU was busy from `from` to the step's end: with the optimizer, where it has that to do.
void Dependencies::explain_cpu_at_end(SimTime from,
                                      const std::function<void(const Cause&)>& visit) const {
  const SimTime begin = std::max(from, optimizer_begin_);
  const SimTime end = std::max(begin, optimizer_end_);
  const auto say = [&](CauseKind kind, SimTime first, SimTime last) {
    if (last > first) visit(Cause{kind, log_.last_op, first, last});
  };
  say(CauseKind::cpu, end, log_.end);
  say(CauseKind::optimizer, begin, end);
  say(CauseKind::cpu, from, begin);
}

void Dependencies::explain_end(SimTime until,
                               const std::function<void(const Cause&)>& visit) const {
  const Node last = last_;
  const SimTime idle = last.op == none ? until : std::max(last.time, until);
  if (log_.end > idle) explain_cpu_at_end(idle, visit);
  if (last.op == none) return;
  const SimTime begun = explain_run(last.op, last.time, until, visit);
  walk(last.op, begun, until, visit);
}

}  // namespace shardsim::scenario
