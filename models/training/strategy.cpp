#include "models/training/strategy.hpp"

#include <cassert>
#include <memory>

#include "models/training/ddp.hpp"
#include "models/training/fsdp1.hpp"
#include "models/training/fsdp2.hpp"
#include "models/training/sharding_strategy.hpp"
#include "models/training/unit_recorder.hpp"
#include "models/training/zero12.hpp"
#include "models/training/zero3.hpp"

namespace shardsim::training {

namespace {

std::unique_ptr<ShardingStrategy> make_strategy(const TrainingSpec& spec, const GroupSizes& groups,
                                                UnitRecorder& recorder) {
  switch (spec.strategy) {
    case Strategy::fsdp2:
      return std::make_unique<Fsdp2>(spec, groups, recorder);
    case Strategy::fsdp1:
      return std::make_unique<Fsdp1>(spec, groups, recorder);
    case Strategy::ddp:
      return std::make_unique<Ddp>(spec, groups, recorder);
    case Strategy::zero1:
    case Strategy::zero2:
      return std::make_unique<Zero12>(spec, groups, recorder);
    case Strategy::zero3:
      return std::make_unique<Zero3>(spec, groups, recorder);
  }
  return nullptr;
}

void record_forward(UnitRecorder& recorder, ShardingStrategy& strategy) {
  Workload& model = recorder.workload();
  cuda::ProgramRecorder& program = recorder.program();
  strategy.pre_forward(root_unit);
  model.embedding_forward(program);
  strategy.after_embedding_forward();
  for (int block = 0; block < model.blocks(); ++block) {
    strategy.pre_forward(block);
    model.block_forward(program, block);
    strategy.post_forward(block);
  }
  strategy.before_head_forward();
  model.head_forward(program);
  strategy.post_forward(root_unit);
  model.loss_forward(program);
}

void record_backward(UnitRecorder& recorder, ShardingStrategy& strategy) {
  Workload& model = recorder.workload();
  cuda::ProgramRecorder& program = recorder.program();
  model.loss_backward(program);
  strategy.pre_backward(root_unit);
  model.head_backward(program);
  strategy.after_head_backward();
  for (int block = model.blocks() - 1; block >= 0; --block) {
    strategy.pre_backward(block);
    model.block_backward(program, block);
    strategy.post_backward(block);
  }
  strategy.before_embedding_backward();
  model.embedding_backward(program);
  strategy.post_backward(root_unit);
  strategy.finish_backward();
  model.loss_metrics(program);
}

MicroBatch micro_batch(GradientSync sync, bool last) {
  return {.reduce_gradients = last || sync != GradientSync::last_micro_batch,
          .all_reduce = last || sync == GradientSync::every_micro_batch,
          .last = last};
}

}  // namespace

cuda::Program record_program(const TrainingSpec& spec, Workload& workload, const GroupSizes& groups,
                             int gradient_accumulation, int steps) {
  assert(gradient_accumulation >= 1 && steps >= 1);
  cuda::ProgramRecorder program;
  UnitRecorder recorder(program, workload);
  const auto strategy = make_strategy(spec, groups, recorder);
  assert(strategy);
  for (int step = 0; step < steps; ++step) {
    program.begin_step();
    for (int i = 0; i < gradient_accumulation; ++i) {
      strategy->begin_micro_batch(micro_batch(spec.gradient_sync, i + 1 == gradient_accumulation));
      record_forward(recorder, *strategy);
      record_backward(recorder, *strategy);
    }
    strategy->optimizer_step();
    program.end_step();
  }
  return program.finish();
}

}  // namespace shardsim::training
