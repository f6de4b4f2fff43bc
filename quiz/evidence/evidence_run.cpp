#include "quiz/evidence/evidence_run.hpp"

#include <utility>

#include "quiz/evidence/step_facts.hpp"

namespace shardsim::quiz {

std::expected<EvidenceRun, scenario::RunFailure> try_out(const RunSpec& spec,
                                                         const scenario::DataFolders& data) {
  const auto unreadable = [](const simcore::Diagnostics& diagnostics) {
    return std::unexpected(scenario::RunFailure{simcore::to_text(diagnostics), {}});
  };
  simcore::Diagnostics diagnostics;
  const auto file = data.scenarios / "quiz" / (spec.scenario + ".yaml");
  auto loaded = scenario::load_scenario(file, spec.set, diagnostics);
  if (!loaded) return unreadable(diagnostics);
  const scenario::ExperimentOptions options{data, false, hardware_of(spec.change)};
  auto experiment = scenario::build_experiment(std::move(*loaded), options, diagnostics);
  if (!experiment) return unreadable(diagnostics);
  apply(spec.change, *experiment->program);
  EvidenceRun run;
  run.spec = spec;
  run.experiment = std::make_unique<scenario::Experiment>(std::move(*experiment));
  scenario::Simulation simulation(*run.experiment);
  while (simulation.advance(1 << 20)) {
  }
  auto output = simulation.finish();
  if (!output) return std::unexpected(std::move(output.error()));
  run.output = std::move(*output);
  run.facts = measure(*run.experiment, run.output);
  return run;
}

std::expected<EvidenceRun, std::string> carry_out(const RunSpec& spec,
                                                  const scenario::DataFolders& data) {
  auto run = try_out(spec, data);
  if (!run) return std::unexpected(run.error().message);
  return std::move(*run);
}

std::expected<const EvidenceRun*, std::string> EvidenceRuns::get(const RunSpec& spec) {
  for (const auto& run : runs_) {
    if (run->spec == spec) return run.get();
  }
  auto run = carry_out(spec, data_);
  if (!run) return std::unexpected(run.error());
  runs_.push_back(std::make_unique<EvidenceRun>(std::move(*run)));
  return runs_.back().get();
}

std::expected<std::map<std::string, const EvidenceRun*>, std::string> EvidenceRuns::all(
    const QuestionSpec& question, const std::function<void(double)>& progress) {
  std::map<std::string, const EvidenceRun*> runs;
  for (const auto& [name, spec] : question.runs) {
    if (progress) {
      progress(static_cast<double>(runs.size()) / static_cast<double>(question.runs.size()));
    }
    const auto run = get(spec);
    if (!run) return std::unexpected(question.id + "." + name + ": " + run.error());
    runs[name] = *run;
  }
  if (progress) progress(1);
  return runs;
}

RunFacts facts_of(const std::map<std::string, const EvidenceRun*>& runs) {
  RunFacts facts;
  for (const auto& [name, run] : runs) facts[name] = run->facts;
  return facts;
}

std::string command_of(const RunSpec& spec) {
  if (spec.change != ProgramChange::none) return {};
  std::string command = "shardsim run quiz/" + spec.scenario;
  for (const std::string& change : spec.set) command += " --set " + change;
  return command;
}

}  // namespace shardsim::quiz
