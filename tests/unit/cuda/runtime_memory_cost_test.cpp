// What the allocator's calls of the driver cost the CPU.
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "models/cuda/memory_rehearsal.hpp"
#include "models/cuda/program_recorder.hpp"
#include "models/cuda/runtime.hpp"
#include "tests/unit/cuda/fixed_time_backend.hpp"

namespace shardsim::cuda {
namespace {

using simcore::Bytes;
using simcore::SimTime;

SimTime us(std::int64_t count) { return SimTime::microseconds(count); }
constexpr Bytes mib(std::int64_t count) { return Bytes{count << 20}; }

RuntimeSpec costly(Bytes capacity) {
  RuntimeSpec spec;
  spec.device_malloc = us(100);
  spec.device_free = us(10);
  spec.memory_capacity = capacity;
  return spec;
}

void launch(ProgramRecorder& recorder, const char* name, std::int64_t time_us) {
  recorder.launch(0, name,
                  KernelSpec{KernelCategory::compute, gpu::FixedWork{us(time_us)}, {}, false});
}

/// When each kernel was issued. With `calls` the rank tracks no memory.
std::map<std::string, SimTime> issue_times(const Program& program, const RuntimeSpec& spec,
                                           const std::vector<DeviceCalls>* calls = nullptr) {
  KernelTimes times;
  times.by_load.resize(1);
  for (const KernelSpec& kernel : program.kernels) {
    times.by_load[0].push_back(std::get<gpu::FixedWork>(kernel.work).time);
  }
  RankSetup rank;
  rank.program = &program;
  rank.kernel_times = &times;
  rank.tracks_memory = calls == nullptr;
  rank.device_calls = calls;
  simcore::EventQueue queue;
  FixedTimeBackend backend(queue, {});
  Runtime runtime(spec, {rank}, backend, queue);
  std::map<std::string, SimTime> issued;
  runtime.op_finished.listen([&](const OpRecord& record) {
    issued[program.names[program.ops[record.op].name]] = record.cpu_issue;
  });
  runtime.start();
  while (queue.step()) {
  }
  CHECK(runtime.finished());
  return issued;
}

TEST_CASE("a segment costs a cudaMalloc, a cached block nothing") {
  ProgramRecorder recorder;
  recorder.free(recorder.allocate(mib(40), 0, MemoryKind::activations, "first"));
  launch(recorder, "a", 1);
  recorder.allocate(mib(40), 0, MemoryKind::activations, "second");
  launch(recorder, "b", 1);
  recorder.allocate(mib(40), 0, MemoryKind::activations, "third");
  launch(recorder, "c", 1);
  const auto issued = issue_times(recorder.finish(), costly(mib(1024)));
  CHECK(issued.at("a") == us(100));
  CHECK(issued.at("b") == us(100));
  CHECK(issued.at("c") == us(200));
}

/// A cached segment has to go for the second allocation, while kernel "a" runs.
Program full_device() {
  ProgramRecorder recorder;
  recorder.free(recorder.allocate(mib(40), 0, MemoryKind::activations, "first"));
  launch(recorder, "a", 5000);
  recorder.allocate(mib(50), 0, MemoryKind::activations, "second");
  launch(recorder, "b", 1);
  return recorder.finish();
}

TEST_CASE("cudaFree on a full device waits until the GPU is idle") {
  const auto issued = issue_times(full_device(), costly(mib(64)));
  CHECK(issued.at("a") == us(100));
  // The kernel ends at 5100; then one cudaFree and one cudaMalloc.
  CHECK(issued.at("b") == us(5100 + 10 + 100));
}

TEST_CASE("a rank that passes over its allocations pays what the rehearsal found") {
  const Program program = full_device();
  const RuntimeSpec spec = costly(mib(64));
  const std::vector<DeviceCalls> calls = rehearse_memory(program, spec);
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].mallocs == 1);
  CHECK(calls[0].frees == 0);
  CHECK(calls[1].mallocs == 1);
  CHECK(calls[1].frees == 1);
  CHECK(issue_times(program, spec, &calls) == issue_times(program, spec));
}

TEST_CASE("a device that is certainly too small is found before the run") {
  ProgramRecorder recorder;
  recorder.allocate(mib(40), 0, MemoryKind::activations, "first");
  recorder.allocate(mib(50), 0, MemoryKind::activations, "second");
  const Program program = recorder.finish();
  const auto shortage = rehearse_shortage(program, costly(mib(64)));
  REQUIRE(shortage);
  CHECK(program.names[program.allocations[program.ops[shortage->op].name].name] == "second");
  CHECK(shortage->requested == mib(50));
  CHECK(shortage->allocated == mib(40));
  CHECK(shortage->reserved == mib(40));
  CHECK_FALSE(rehearse_shortage(program, costly(mib(90))));
  CHECK_FALSE(rehearse_shortage(full_device(), costly(mib(64))));
}

TEST_CASE("beside a second stream only live bytes tell that a device is too small") {
  // "held" takes half of a segment of 40 MiB, which therefore cannot be given back.
  const auto program = [](bool second_stream, Bytes last) {
    ProgramRecorder recorder;
    const StreamId other = recorder.create_stream("other");
    recorder.free(recorder.allocate(mib(40), 0, MemoryKind::activations, "first"));
    const TensorId held = recorder.allocate(mib(20), 0, MemoryKind::activations, "held");
    if (second_stream) recorder.record_stream(held, other);
    recorder.allocate(last, 0, MemoryKind::activations, "last");
    return recorder.finish();
  };
  CHECK(rehearse_shortage(program(false, mib(30)), costly(mib(64))));
  CHECK_FALSE(rehearse_shortage(program(true, mib(30)), costly(mib(64))));
  CHECK(rehearse_shortage(program(true, mib(50)), costly(mib(64))));
}

TEST_CASE("a step that repeats asks the driver for nothing more") {
  ProgramRecorder recorder;
  for (int step = 0; step < 3; ++step) {
    recorder.begin_step();
    const TensorId a = recorder.allocate(mib(40), 0, MemoryKind::activations, "a");
    const TensorId b = recorder.allocate(mib(30), 0, MemoryKind::activations, "b");
    recorder.free(a);
    recorder.free(b);
    recorder.end_step();
  }
  const Program program = recorder.finish();
  const auto calls = rehearse_memory(program, costly(mib(1024)));
  REQUIRE(calls.size() == 2);
  for (const DeviceCalls& call : calls) {
    for (std::uint32_t op = 0; op < call.op; ++op) {
      CHECK(program.ops[op].code != OpCode::step_end);
    }
  }
}

}  // namespace
}  // namespace shardsim::cuda
