#include "models/scenario/memory_log.hpp"

namespace shardsim::scenario {

MemoryLogger::MemoryLogger(cuda::Runtime& runtime, const std::vector<cuda::RankSetup>& ranks)
    : logs_(ranks.size()) {
  for (std::size_t slot = 0; slot < ranks.size(); ++slot) {
    logs_[slot].program = ranks[slot].program;
  }
  runtime.step_boundary.listen([this, &runtime](const cuda::StepRecord& record) {
    if (!record.begins) return;
    MemoryLog& log = logs_[record.slot];
    log.step = record.step;
    log.begin = record.time;
    const auto& ops = log.program->ops;
    while (ops[log.first_op].code != cuda::OpCode::step_begin ||
           ops[log.first_op].index != record.step) {
      ++log.first_op;
    }
    const cuda::AllocatorStatistics& now = runtime.memory(record.slot);
    log.reserved_at_begin = now.reserved;
    log.allocated_at_begin = now.allocated_by_kind;
    log.changes.clear();
  });
  runtime.memory_changed.listen([this](const cuda::MemoryRecord& record) {
    MemoryLog& log = logs_[record.slot];
    log.changes.push_back({record.op, record.time, record.allocated, record.reserved});
    if (record.allocated <= log.peak) return;
    log.peak = record.allocated;
    log.peak_op = record.op;
  });
}

}  // namespace shardsim::scenario
