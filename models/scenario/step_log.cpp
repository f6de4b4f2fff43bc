#include "models/scenario/step_log.hpp"

namespace shardsim::scenario {

using cuda::OpCode;
using simcore::SimTime;

StepLogger::StepLogger(cuda::Runtime& runtime, const std::vector<cuda::RankSetup>& ranks,
                       const std::vector<bool>& wanted, std::uint32_t step)
    : log_of_slot_(ranks.size(), UINT32_MAX) {
  for (std::uint32_t slot = 0; slot < ranks.size(); ++slot) {
    if (!wanted[slot]) continue;
    StepLog log;
    log.slot = slot;
    log.rank = ranks[slot].rank;
    log.step = step;
    log.program = ranks[slot].program;
    const auto& ops = log.program->ops;
    for (std::uint32_t op = 0; op < ops.size(); ++op) {
      if (ops[op].code == OpCode::step_begin && ops[op].index == step) log.first_op = op;
      if (ops[op].code == OpCode::step_end && ops[op].index == step) log.last_op = op;
    }
    log.ops.assign(log.last_op - log.first_op + 1,
                   cuda::OpRecord{slot, 0, SimTime{}, SimTime{}, SimTime::never(), SimTime{}});
    log_of_slot_[slot] = static_cast<std::uint32_t>(logs_.size());
    logs_.push_back(std::move(log));
  }
  const auto find = [this](std::uint32_t slot) -> StepLog* {
    const std::uint32_t index = log_of_slot_[slot];
    return index == UINT32_MAX ? nullptr : &logs_[index];
  };
  const auto covers = [](const StepLog& log, std::uint32_t op) {
    return op >= log.first_op && op <= log.last_op;
  };
  runtime.op_finished.listen([find, covers](const cuda::OpRecord& record) {
    StepLog* log = find(record.slot);
    if (log != nullptr && covers(*log, record.op)) log->ops[record.op - log->first_op] = record;
  });
  runtime.cpu_waited.listen([find, covers](const cuda::CpuWaitRecord& record) {
    StepLog* log = find(record.slot);
    if (log != nullptr && covers(*log, record.op)) log->cpu_waits.push_back(record);
  });
  runtime.step_boundary.listen([find](const cuda::StepRecord& record) {
    StepLog* log = find(record.slot);
    if (log == nullptr || record.step != log->step) return;
    (record.begins ? log->begin : log->end) = record.time;
  });
}

}  // namespace shardsim::scenario
