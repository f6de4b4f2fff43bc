// Runs a recorded strategy on one simulated rank, with prescribed times for kernels and
// collectives, and keeps what happened in each step.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "models/cuda/runtime.hpp"
#include "models/training/explicit_workload.hpp"
#include "models/training/strategy.hpp"
#include "simcore/config/fields.hpp"
#include "tests/unit/cuda/fixed_time_backend.hpp"

namespace shardsim::training {

/// Reads a specification from YAML; complains to standard error and gives the default otherwise.
template <class T>
T from_yaml(std::string_view text) {
  simcore::Diagnostics diagnostics;
  const auto source =
      std::make_shared<const simcore::SourceText>(simcore::SourceText{"test", std::string(text)});
  const auto node = simcore::read_yaml(source, diagnostics);
  T value = node ? simcore::read_config<T>(*node, diagnostics) : T{};
  INFO(simcore::to_text(diagnostics));
  CHECK_FALSE(diagnostics.has_errors());
  return value;
}

struct RunOperation {
  std::string name;
  std::string stream;
  std::string communicator;
  std::int64_t start_us = 0;
  std::int64_t end_us = 0;
  std::int64_t cpu_issue_us = 0;
  bool operator==(const RunOperation&) const = default;
};

struct RunWait {
  std::int64_t from_us = 0;
  std::int64_t to_us = 0;
  std::string name;
  bool operator==(const RunWait&) const = default;
};

struct RunMemory {
  std::int64_t allocated = 0;
  std::int64_t peak_allocated = 0;
  std::int64_t peak_reserved = 0;
};

/// One step; times count from its start.
struct RunStep {
  std::int64_t span_us = 0;
  std::vector<RunOperation> operations;  ///< in issue order
  std::vector<RunWait> cpu_waits;
  RunMemory memory;  ///< allocated: at the end; peaks: within the step

  const RunOperation& operation(std::string_view name, int occurrence = 0) const {
    for (const RunOperation& operation : operations) {
      if (operation.name == name && occurrence-- == 0) return operation;
    }
    FAIL("no operation " << std::string(name));
    return operations.front();
  }
  std::int64_t count(std::string_view prefix) const {
    std::int64_t count = 0;
    for (const RunOperation& operation : operations) {
      count += operation.name.starts_with(prefix) && !operation.communicator.empty() ? 1 : 0;
    }
    return count;
  }
};

/// What kernels of `program` take: their prescribed times, or 1 us.
inline cuda::KernelTimes prescribed_times(const cuda::Program& program) {
  cuda::KernelTimes times;
  times.by_load.resize(1);
  for (const cuda::KernelSpec& kernel : program.kernels) {
    const auto* fixed = std::get_if<gpu::FixedWork>(&kernel.work);
    times.by_load[0].push_back(fixed ? fixed->time : simcore::SimTime::microseconds(1));
  }
  return times;
}

/// Runs `program` on as many ranks as there are `times`; every collective takes its prescribed time
/// (or 1 us) from the arrival of the last of them. Checks that all come to their end. The steps of
/// each rank.
std::vector<std::vector<RunStep>> run_ranks(const cuda::Program& program,
                                            const std::vector<cuda::KernelTimes>& times);

/// Runs `program` alone: its collectives wait for nobody.
inline std::vector<RunStep> run_alone(const cuda::Program& program) {
  return run_ranks(program, {prescribed_times(program)}).front();
}

inline std::int64_t to_us(simcore::SimTime time) { return time.picoseconds() / 1'000'000; }

/// What the probes tell of one rank, by the operation's place in the program.
struct RankRecords {
  std::map<std::uint32_t, cuda::OpRecord> operations;
  std::map<std::uint32_t, cuda::CpuWaitRecord> waits;
  std::vector<simcore::SimTime> begins;
  std::vector<simcore::SimTime> ends;
  std::vector<RunMemory> memory;
  RunMemory current;
};

inline std::vector<RunStep> steps_of(const cuda::Program& program, const RankRecords& records) {
  std::vector<RunStep> steps(records.ends.size());
  std::size_t step = 0;
  for (std::uint32_t index = 0; index < program.ops.size() && step < steps.size(); ++index) {
    const cuda::Op& op = program.ops[index];
    const simcore::SimTime zero = records.begins[step];
    RunStep& target = steps[step];
    if (op.code == cuda::OpCode::kernel || op.code == cuda::OpCode::collective) {
      const cuda::OpRecord& record = records.operations.at(index);
      const bool collective = op.code == cuda::OpCode::collective;
      target.operations.push_back(
          {program.names[op.name], program.streams[op.stream].name,
           collective ? program.communicators[program.collectives[op.index].communicator]
                      : std::string(),
           to_us(record.start - zero), to_us(record.end - zero), to_us(record.cpu_issue - zero)});
    } else if (op.code == cuda::OpCode::cpu_wait_event) {
      const cuda::CpuWaitRecord& record = records.waits.at(index);
      target.cpu_waits.push_back(
          {to_us(record.from - zero), to_us(record.to - zero), program.names[op.name]});
    } else if (op.code == cuda::OpCode::step_end) {
      target.span_us = to_us(records.ends[step] - zero);
      target.memory = records.memory[step];
      ++step;
    }
  }
  return steps;
}

inline std::vector<std::vector<RunStep>> run_ranks(const cuda::Program& program,
                                                   const std::vector<cuda::KernelTimes>& times) {
  simcore::EventQueue queue;
  std::vector<cuda::RankSetup> ranks(times.size());
  for (std::size_t slot = 0; slot < ranks.size(); ++slot) {
    ranks[slot].rank = static_cast<int>(slot);
    ranks[slot].program = &program;
    ranks[slot].kernel_times = &times[slot];
    for (std::uint32_t i = 0; i < program.communicators.size(); ++i) {
      ranks[slot].communicators.push_back(
          {.instance = i, .member = static_cast<std::uint32_t>(slot)});
    }
  }
  cuda::FixedTimeBackend backend(
      queue, std::vector<std::uint32_t>(program.communicators.size(),
                                        static_cast<std::uint32_t>(ranks.size())));
  const cuda::RuntimeSpec spec;
  cuda::Runtime runtime(spec, ranks, backend, queue);

  std::vector<RankRecords> records(ranks.size());
  runtime.op_finished.listen(
      [&](const cuda::OpRecord& record) { records[record.slot].operations[record.op] = record; });
  runtime.cpu_waited.listen(
      [&](const cuda::CpuWaitRecord& record) { records[record.slot].waits[record.op] = record; });
  runtime.memory_changed.listen([&](const cuda::MemoryRecord& record) {
    RunMemory& current = records[record.slot].current;
    current.allocated = record.allocated.count;
    current.peak_allocated = std::max(current.peak_allocated, record.allocated.count);
    current.peak_reserved = std::max(current.peak_reserved, record.reserved.count);
  });
  runtime.step_boundary.listen([&](const cuda::StepRecord& record) {
    RankRecords& rank = records[record.slot];
    (record.begins ? rank.begins : rank.ends).push_back(record.time);
    if (record.begins) {
      rank.current.peak_allocated = rank.current.allocated;
      rank.current.peak_reserved = 0;
    } else {
      rank.memory.push_back(rank.current);
    }
  });
  runtime.start();
  while (queue.step()) {
  }
  CHECK(runtime.finished());
  CHECK_FALSE(runtime.out_of_memory());

  std::vector<std::vector<RunStep>> steps;
  for (const RankRecords& rank : records) steps.push_back(steps_of(program, rank));
  return steps;
}

}  // namespace shardsim::training
