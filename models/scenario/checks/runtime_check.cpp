#include "models/scenario/checks/runtime_check.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "simcore/quantity.hpp"

namespace shardsim::scenario {

using cuda::OpCode;
using simcore::SimTime;

RuntimeCheck::RuntimeCheck(const std::vector<cuda::RankSetup>& ranks, SimTime launch_latency,
                           const CollectiveCheck* collectives, CheckLog& log)
    : launch_latency_(launch_latency), collectives_(collectives), log_(log) {
  for (std::size_t slot = 0; slot < std::min(ranks.size(), most_ranks); ++slot) {
    const cuda::Program* program = ranks[slot].program;
    auto& order = orders_[program];
    if (!order) order = std::make_unique<ProgramOrder>(*program);
    Rank& rank = ranks_.emplace_back();
    rank.setup = &ranks[slot];
    rank.order = order.get();
    rank.ends.assign(order->launches(), SimTime::never());
    rank.collectives.assign(program->communicators.size(), 0);
  }
}

void RuntimeCheck::listen(cuda::Runtime& runtime) {
  runtime.op_finished.listen([this](const cuda::OpRecord& record) { finished(record); });
  runtime.cpu_waited.listen([this](const cuda::CpuWaitRecord& record) { cpu_waited(record); });
  runtime.step_boundary.listen([this](const cuda::StepRecord& record) { step(record); });
}

std::string RuntimeCheck::where(const Rank& rank, std::uint32_t op) const {
  const cuda::Program& program = *rank.setup->program;
  const cuda::Op& what = program.ops[op];
  const bool launch = rank.order->launch(op) != ProgramOrder::none;
  return fmt::format("rank {}, operation {}{}", rank.setup->rank, op,
                     launch ? " (" + program.names[what.name] + ")" : "");
}

/// Of what must be over before the operation; never if something is not.
SimTime RuntimeCheck::last_end(const Rank& rank, std::uint32_t op) const {
  SimTime last;
  for (const std::uint32_t launch : rank.order->after(op)) {
    last = std::max(last, rank.ends[launch]);
  }
  return last;
}

void RuntimeCheck::check_launch(Rank& rank, const cuda::OpRecord& record) {
  const SimTime ready = record.cpu_issue + launch_latency_;
  if (!log_.holds(Invariant::launch_order, record.start >= ready && record.end >= record.start)) {
    log_.violated({Invariant::launch_order, record.end, where(rank, record.op),
                   fmt::format("a run from {} to {}", simcore::to_text(record.start),
                               simcore::to_text(record.end)),
                   "a start not before " + simcore::to_text(ready)});
  }
  const SimTime awaited = last_end(rank, record.op);
  if (!log_.holds(Invariant::stream_order, awaited <= record.start)) {
    log_.violated({Invariant::stream_order, record.end, where(rank, record.op),
                   "a start at " + simcore::to_text(record.start),
                   awaited == SimTime::never()
                       ? "none before what it waits for has ended"
                       : "none before what it waits for ends, at " + simcore::to_text(awaited)});
  }
  const std::uint32_t wait = rank.order->wait_before(record.op);
  if (wait == ProgramOrder::none) return;
  if (wait != rank.wait) {
    rank.wait = wait;
    rank.wait_over = last_end(rank, wait);
  }
  if (log_.holds(Invariant::event_order_on_cpu, rank.wait_over <= record.cpu_issue)) return;
  log_.violated({Invariant::event_order_on_cpu, record.end, where(rank, record.op),
                 "issued at " + simcore::to_text(record.cpu_issue),
                 "not before what the CPU waits for, at " + simcore::to_text(rank.wait_over)});
}

void RuntimeCheck::check_collective(Rank& rank, const cuda::OpRecord& record) {
  const cuda::Program& program = *rank.setup->program;
  const auto id = program.collectives[program.ops[record.op].index].communicator;
  const std::uint32_t number = rank.collectives[id]++;
  if (collectives_ == nullptr) return;
  const auto& ended = collectives_->ended(rank.setup->communicators[id].instance);
  if (!log_.holds(Invariant::collective_at_ranks, number < ended.size())) {
    log_.violated({Invariant::collective_at_ranks, record.end, where(rank, record.op),
                   fmt::format("end number {}", number + 1),
                   fmt::format("{}, as many as were carried out", ended.size())});
    return;
  }
  const CollectiveCheck::Ended& whole = ended[number];
  const bool agree = record.start <= whole.last_arrival && record.end == whole.end;
  if (log_.holds(Invariant::collective_at_ranks, agree)) return;
  log_.violated({Invariant::collective_at_ranks, record.end, where(rank, record.op),
                 fmt::format("a run from {} to {}", simcore::to_text(record.start),
                             simcore::to_text(record.end)),
                 fmt::format("a start not after {} and the end at {}",
                             simcore::to_text(whole.last_arrival), simcore::to_text(whole.end))});
}

void RuntimeCheck::finished(const cuda::OpRecord& record) {
  if (record.slot >= ranks_.size()) return;
  Rank& rank = ranks_[record.slot];
  check_launch(rank, record);
  if (rank.setup->program->ops[record.op].code == OpCode::collective) {
    check_collective(rank, record);
  }
  SimTime& end = rank.ends[rank.order->launch(record.op)];
  const bool first = end == SimTime::never() || rank.setup->repeats_last_step;
  if (!log_.holds(Invariant::operation_end, first)) {
    log_.violated({Invariant::operation_end, record.end, where(rank, record.op), "a second end",
                   "one, at " + simcore::to_text(end)});
  }
  end = record.end;
  ++rank.finished;
}

void RuntimeCheck::cpu_waited(const cuda::CpuWaitRecord& record) {
  if (record.slot >= ranks_.size()) return;
  const Rank& rank = ranks_[record.slot];
  const SimTime awaited = last_end(rank, record.op);
  const bool good = record.from <= record.to && awaited <= record.to;
  if (log_.holds(Invariant::event_order_on_cpu, good)) return;
  log_.violated({Invariant::event_order_on_cpu, record.to, where(rank, record.op),
                 fmt::format("a wait from {} to {}", simcore::to_text(record.from),
                             simcore::to_text(record.to)),
                 awaited == SimTime::never() ? "an end after what it waits for"
                                             : "an end not before " + simcore::to_text(awaited)});
}

void RuntimeCheck::step(const cuda::StepRecord& record) {
  if (record.slot >= ranks_.size()) return;
  Rank& rank = ranks_[record.slot];
  const bool repeats = rank.setup->repeats_last_step;
  const bool good = record.begins != rank.in_step && (repeats || record.step == rank.step) &&
                    record.time >= rank.boundary;
  if (!log_.holds(Invariant::step_order, good)) {
    log_.violated({Invariant::step_order, record.time, fmt::format("rank {}", rank.setup->rank),
                   fmt::format("step {} {}", record.step, record.begins ? "begins" : "ends"),
                   fmt::format("step {} to {}, not before {}", rank.step,
                               rank.in_step ? "end" : "begin", simcore::to_text(rank.boundary))});
  }
  rank.in_step = record.begins;
  rank.boundary = record.time;
  if (record.begins) rank.wait = ProgramOrder::none;  // a repeated one is over at another time
  if (!record.begins) rank.step = record.step + 1;
}

void RuntimeCheck::all_ended(SimTime now, std::size_t ranks) {
  for (std::size_t slot = 0; slot < std::min(ranks, ranks_.size()); ++slot) {
    const Rank& rank = ranks_[slot];
    const bool all = rank.finished == rank.ends.size() && !rank.in_step;
    if (log_.holds(Invariant::operation_end, all)) continue;
    log_.violated({Invariant::operation_end, now, fmt::format("rank {}", rank.setup->rank),
                   fmt::format("{} operations that ended", rank.finished),
                   fmt::format("{} that were launched", rank.ends.size())});
  }
}

}  // namespace shardsim::scenario
