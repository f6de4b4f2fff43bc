#include "models/scenario/accuracy/run_facts.hpp"

#include "simcore/config/codec.hpp"

namespace shardsim::scenario {

const char* strategy_family(training::Strategy strategy) {
  switch (strategy) {
    case training::Strategy::fsdp1:
    case training::Strategy::fsdp2:
      return "FSDP";
    case training::Strategy::ddp:
      return "DDP";
    default:
      return "ZeRO";
  }
}

RunFacts facts_of(const Experiment& experiment) {
  const ScenarioSpec& spec = experiment.scenario.spec;
  RunFacts facts;
  facts.family = strategy_family(spec.training.strategy);
  facts.gpu = experiment.gpu.name;
  facts.generation = experiment.gpu.architecture;
  facts.parameters = experiment.parameters;
  facts.gpus = experiment.graph.gpu_count();
  facts.precision = simcore::print_value(spec.workload.precision);
  const gpu::DataType type = training::compute_type(spec.workload.precision);
  facts.calibrated = experiment.gpu.gemm_constants(type).training_throttle.has_value();
  facts.cpu_offload = spec.training.offloads();
  return facts;
}

RunFacts facts_of(const Experiment& experiment, const StepResult& step) {
  RunFacts facts = facts_of(experiment);
  if (step.time <= simcore::SimTime{}) return facts;
  facts.exposed_share = step.exposed_communication.seconds() / step.time.seconds();
  facts.cpu_share = step.cpu_bound.seconds() / step.time.seconds();
  return facts;
}

}  // namespace shardsim::scenario
