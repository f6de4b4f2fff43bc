#include "models/scenario/accuracy/what_if.hpp"

#include <optional>
#include <utility>

#include "models/scenario/simulation.hpp"

namespace shardsim::scenario {

namespace {

WhatIfQuestion question(const char* key, const char* text, double HardwareChanges::* factor) {
  WhatIfQuestion made{key, text, {}};
  made.changes.*factor = 2;
  return made;
}

std::optional<simcore::SimTime> step_time_with(const Experiment& experiment,
                                               const ExperimentOptions& options) {
  simcore::Diagnostics diagnostics;
  const auto changed = build_experiment(experiment.scenario, options, diagnostics);
  if (!changed || diagnostics.has_errors()) return std::nullopt;
  Simulation simulation(*changed);
  while (simulation.advance(1 << 20)) {
  }
  const auto output = simulation.finish();
  if (!output) return std::nullopt;
  return output->result.step.time;
}

}  // namespace

std::vector<WhatIfQuestion> what_if_questions() {
  std::vector<WhatIfQuestion> questions{
      question("network_bandwidth_x2", "twice the network (NICs, PCIe, switches)",
               &HardwareChanges::network_bandwidth),
      question("nvlink_bandwidth_x2", "twice the NVLink bandwidth",
               &HardwareChanges::nvlink_bandwidth),
      question("memory_bandwidth_x2", "twice the memory bandwidth",
               &HardwareChanges::memory_bandwidth),
      question("arithmetic_x2", "twice the arithmetic peak", &HardwareChanges::arithmetic_rate)};
  WhatIfQuestion launches{"no_launch_cost", "no launch cost on the CPU", {}};
  launches.changes.free_launches = true;
  questions.push_back(std::move(launches));
  return questions;
}

std::vector<WhatIf> answer_what_if(const Experiment& experiment, const ExperimentOptions& options,
                                   const std::function<void(double)>& step) {
  std::vector<WhatIf> answers;
  const std::vector<WhatIfQuestion> questions = what_if_questions();
  for (const WhatIfQuestion& one : questions) {
    ExperimentOptions changed = options;
    changed.changes = one.changes;
    answers.push_back({one.key, one.text, step_time_with(experiment, changed)});
    if (step) {
      step(static_cast<double>(answers.size()) / static_cast<double>(questions.size()));
    }
  }
  return answers;
}

}  // namespace shardsim::scenario
