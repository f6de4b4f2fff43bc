// The recorded step: gradients, persistent memory, launches, CPU time, kernels around the model.

#include "transformer_fixture.hpp"

using namespace shardsim;
using namespace shardsim::training;
using cuda::MemoryKind;

namespace {

/// CPU time of one block's pass in units of one operation's cost.
double operations_of_block(const TransformerShape& shape, bool compiled, Pass pass) {
  WorkloadSpec spec = sequences(128);
  spec.compile = compiled;
  TransformerSetting setting;
  setting.cpu.launch = simcore::SimTime::microseconds(1);
  setting.cpu.forward_op = setting.cpu.backward_op = simcore::SimTime::microseconds(1);
  TransformerWorkload workload(shape, spec, setting);
  cuda::ProgramRecorder recorder;
  record_forward(recorder, workload);
  workload.head_backward(recorder);
  const simcore::SimTime before = cpu_time(recorder.finish());

  TransformerWorkload again(shape, spec, setting);
  cuda::ProgramRecorder longer;
  record_forward(longer, again);
  again.head_backward(longer);
  if (pass == Pass::backward) {
    again.block_backward(longer, 2);
    return (cpu_time(longer.finish()) - before).microseconds();
  }
  TransformerShape deeper = shape;
  ++deeper.layers;
  TransformerWorkload more(deeper, spec, setting);
  cuda::ProgramRecorder deepest;
  record_forward(deepest, more);
  more.head_backward(deepest);
  return (cpu_time(deepest.finish()) - before).microseconds();
}

std::size_t recorded_ops(TransformerWorkload& workload) { return record_step(workload).ops.size(); }

}  // namespace

TEST_CASE("each parameter of a unit gets one gradient of its size, in the type of compute") {
  for (const TransformerShape& shape : {small_llama(), small_gpt()}) {
    TransformerWorkload workload(shape, sequences(64), {});
    cuda::ProgramRecorder recorder;
    std::map<std::pair<int, std::size_t>, int> seen;
    workload.set_gradient_hook([&](cuda::ProgramRecorder& program, const Gradient& gradient) {
      ++seen[{gradient.unit, gradient.parameter}];
      program.free(gradient.tensor);
    });
    record_forward(recorder, workload);
    record_backward(recorder, workload);
    CHECK(seen.size() ==
          workload.parameters(root_unit).size() +
              static_cast<std::size_t>(shape.layers) * workload.parameters(0).size());
    for (const auto& [parameter, count] : seen) CHECK(count == 1);
    CHECK(Replay(recorder.finish()).live() == 0);
  }
}

TEST_CASE("a block's gradients together are as large as its parameters") {
  const TransformerShape shape = small_llama();
  TransformerWorkload workload(shape, sequences(64), {});
  cuda::ProgramRecorder recorder;
  record_forward(recorder, workload);
  workload.head_backward(recorder);
  free_gradients(recorder, workload, root_unit);
  workload.block_backward(recorder, 2);
  CHECK(workload.take_gradients(2).size() == workload.parameters(2).size());
  CHECK(workload.take_gradients(2).empty());
  CHECK(Replay(recorder.finish()).live(MemoryKind::gradients) ==
        2 * element_count(block_parameters(shape)));
}

TEST_CASE("a tied table gets one gradient, when the embedding's backward has added its part") {
  TransformerWorkload workload(small_gpt(), sequences(64), {});
  cuda::ProgramRecorder recorder;
  record_forward(recorder, workload);
  workload.head_backward(recorder);
  CHECK(workload.take_gradients(root_unit).size() == 2);  // the final norm's
  for (int block = workload.blocks() - 1; block >= 0; --block) {
    workload.block_backward(recorder, block);
  }
  workload.embedding_backward(recorder);
  const std::vector<Gradient> gradients = workload.take_gradients(root_unit);
  REQUIRE(gradients.size() == 2);
  CHECK(gradients.back().parameter == 0);
}

TEST_CASE("cuBLAS keeps a workspace for forward and one for backward, once") {
  TransformerSetting setting;
  setting.cublas_workspace = cublas_workspace_bytes(9);
  TransformerWorkload workload(small_llama(), sequences(64), setting);
  cuda::ProgramRecorder recorder;
  for (int step = 0; step < 3; ++step) {
    record_forward(recorder, workload);
    record_backward(recorder, workload);
  }
  const Replay replay(recorder.finish());
  CHECK(replay.live() == 2 * 33'554'432);
  CHECK(replay.live(MemoryKind::other) == replay.live());
  CHECK(cublas_workspace_bytes(8).count == 8'519'680);
}

TEST_CASE("an eager Llama block is about 45 operations forward and 80 backward, 0.9 ms of CPU") {
  const TransformerShape shape = small_llama();
  CHECK(operations_of_block(shape, false, Pass::forward) == doctest::Approx(45).epsilon(0.1));
  CHECK(operations_of_block(shape, false, Pass::backward) == doctest::Approx(80).epsilon(0.1));
  const double milliseconds = (operations_of_block(shape, false, Pass::forward) * 8 +
                               operations_of_block(shape, false, Pass::backward) * 6.5) /
                              1000;
  CHECK(milliseconds == doctest::Approx(0.9).epsilon(0.1));
}

TEST_CASE("a compiled Llama block is about 12 kernels forward and 25 backward") {
  const TransformerShape shape = small_llama();
  CHECK(operations_of_block(shape, true, Pass::forward) == doctest::Approx(12).epsilon(0.1));
  CHECK(operations_of_block(shape, true, Pass::backward) == doctest::Approx(25).epsilon(0.2));
}

TEST_CASE("compilation spares traffic, and no arithmetic") {
  WorkloadSpec spec = sequences(256);
  const cuda::Program eager = record_step(small_llama(), spec);
  spec.compile = true;
  const cuda::Program compiled = record_step(small_llama(), spec);
  CHECK(streamed_bytes(compiled) < streamed_bytes(eager) / 2);
  CHECK(gemm_flops(compiled) == gemm_flops(eager));
  CHECK(cpu_time(compiled) < cpu_time(eager));
}

TEST_CASE("steps record alike, and deterministically") {
  TransformerWorkload one(small_gpt(), sequences(64), {});
  TransformerWorkload two(small_gpt(), sequences(64), {});
  const std::size_t first = recorded_ops(one);
  CHECK(recorded_ops(one) == first);
  CHECK(recorded_ops(two) == first);
}

TEST_CASE("a block of one token, one head and one element still balances") {
  TransformerShape shape;
  shape.layers = shape.hidden = shape.heads = shape.kv_heads = shape.head_size = 1;
  shape.ffn_hidden = shape.vocabulary = 1;
  CHECK(Replay(record_step(shape, sequences(1))).live() == 0);
}

TEST_CASE("fused AdamW moves 28 bytes a parameter, foreach three times that") {
  const CpuSpec cpu;
  const auto bytes = [&](OptimizerSetting setting) {
    const cuda::KernelSpec kernel = optimizer_kernel(setting, cpu, 1'000'000, 10);
    return std::get<gpu::MemoryBoundWork>(kernel.work).bytes.count;
  };
  CHECK(bytes({.implementation = OptimizerImplementation::fused}) == 28'000'000);
  CHECK(bytes({.implementation = OptimizerImplementation::foreach}) == 84'000'000);
  CHECK(bytes({.kind = OptimizerKind::sgd}) == 12'000'000);
  CHECK(bytes({.implementation = OptimizerImplementation::fused,
               .master_type = gpu::DataType::bf16}) == 14'000'000);
}

TEST_CASE("the optimizer's CPU time grows with tensors, and most with DTensors") {
  CpuSpec cpu;
  const auto time = [&](OptimizerSetting setting, std::int64_t tensors) {
    return optimizer_kernel(setting, cpu, 1'000'000, tensors).cpu_cost;
  };
  const OptimizerSetting foreach_dtensor{.implementation = OptimizerImplementation::foreach,
                                         .dtensor_parameters = true};
  const OptimizerSetting fused_dtensor{.implementation = OptimizerImplementation::fused,
                                       .dtensor_parameters = true};
  CHECK(time({}, 0) == cpu.optimizer_step);
  // The published pair: 150 tensors, 138 ms and 43 ms.
  CHECK(time(foreach_dtensor, 150).seconds() == doctest::Approx(0.138).epsilon(0.02));
  CHECK(time(fused_dtensor, 150).seconds() == doctest::Approx(0.043).epsilon(0.05));
  CHECK(time({}, 150) < time(fused_dtensor, 150));
}

TEST_CASE("no parameters at all is still a launch") {
  const cuda::KernelSpec kernel = optimizer_kernel({}, {}, 0, 0);
  const auto& work = std::get<gpu::MemoryBoundWork>(kernel.work);
  CHECK(work.bytes.count == 0);
  CHECK(work.launches >= 1);
}

TEST_CASE("copies take their bytes, collectives the CPU's share, and keep the rest") {
  CpuSpec cpu;
  TransformerSetting setting;
  setting.cpu = cpu;
  const TransformerWorkload workload(small_llama(), sequences(64), setting);
  const cuda::KernelSpec copy = workload.copy(CopyRole::copy_out, 0, simcore::Bytes{12'345}, 65);
  const auto& work = std::get<gpu::MemoryBoundWork>(copy.work);
  CHECK(copy.category == cuda::KernelCategory::copy);
  CHECK(work.bytes.count == 12'345);
  CHECK(work.launches == 2);
  cuda::CollectiveSpec spec;
  spec.bytes = simcore::Bytes{99};
  const cuda::CollectiveSpec completed = workload.collective(CollectiveRole::all_gather, 0, spec);
  CHECK(completed.bytes.count == 99);
  CHECK_FALSE(completed.fixed_time.has_value());
  CHECK(completed.cpu_cost == cpu.collective);
  CHECK(workload.hook_cost() == cpu.hook);
}
