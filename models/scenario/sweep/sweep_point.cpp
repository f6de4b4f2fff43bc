#include "models/scenario/sweep/sweep_point.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "models/cuda/memory_rehearsal.hpp"
#include "models/scenario/accuracy/forecast_interval.hpp"
#include "models/scenario/accuracy/interval_limits.hpp"
#include "models/scenario/host_memory.hpp"
#include "models/scenario/result_json.hpp"
#include "models/scenario/simulation.hpp"
#include "simcore/config/yaml_reader.hpp"
#include "simcore/decimal_number.hpp"
#include "simcore/machine_failure.hpp"

namespace shardsim::scenario {

using Json = nlohmann::ordered_json;

namespace {

std::string name_of(FailureKind kind) {
  switch (kind) {
    case FailureKind::out_of_memory:
      return "out_of_memory";
    case FailureKind::no_route:
      return "no_route";
    case FailureKind::deadlock:
      return "deadlock";
    case FailureKind::too_long:
      return "too_long";
    case FailureKind::invariant:
      return "invariant";
    case FailureKind::over_budget:
      return "over_budget";
  }
  return "deadlock";
}

PointFailure bad_value(const simcore::Diagnostics& diagnostics) {
  PointFailure failure{"bad_value", "the values make no scenario"};
  for (const simcore::Diagnostic& one : diagnostics.all()) {
    if (one.severity != simcore::Severity::error) continue;
    failure.message = one.message + simcore::did_you_mean(one.suggestion);
    break;
  }
  return failure;
}

/// The scenario's identity and cluster, for points that were not simulated.
Result describe(const Experiment& experiment) {
  Result result;
  result.scenario_name = experiment.scenario.spec.name;
  result.scenario_file = experiment.scenario.file.string();
  result.overrides = experiment.scenario.overrides;
  result.gpus = static_cast<int>(experiment.graph.gpu_count());
  result.nodes = static_cast<int>(experiment.graph.node_count());
  result.gpu = experiment.gpu.name;
  result.topology = experiment.topology.spec.name;
  return result;
}

/// The failure of a point that is known not to fit from its program's allocations alone.
std::optional<PointOutcome> rehearse(const Experiment& experiment) {
  PointOutcome outcome;
  outcome.rehearsed_only = true;
  const auto host =
      host_memory(*experiment.program, experiment.gpus, experiment.graph, experiment.topology.spec);
  if (host && !host->fits()) {
    outcome.result = describe(experiment);
    outcome.failed = PointFailure{"out_of_memory", "out of host memory: " + shortage_text(*host)};
    return outcome;
  }
  const auto shortage = cuda::rehearse_shortage(*experiment.program, experiment.runtime);
  if (!shortage) return std::nullopt;
  const cuda::Program& program = *experiment.program;
  const cuda::AllocationSpec& wanted = program.allocations[program.ops[shortage->op].name];
  outcome.result = describe(experiment);
  outcome.failed = PointFailure{
      "out_of_memory",
      fmt::format("out of memory: {} for {} ({}) beside {} in use, found without a run",
                  simcore::to_text(shortage->requested), program.names[wanted.name],
                  memory_kind_name(wanted.kind), simcore::to_text(shortage->allocated))};
  return outcome;
}

PointOutcome simulate(const Experiment& experiment, const SweepSetting& setting) {
  PointOutcome outcome;
  SimulationOptions options;
  options.check = setting.check;
  Simulation simulation(experiment, options);
  const std::uint64_t most = setting.max_events > 0 ? setting.max_events : UINT64_MAX;
  bool over = false;
  const auto slice = [&] { return std::min(std::uint64_t{1} << 17, most - simulation.events()); };
  while (!over && simulation.advance(slice())) {
    if (setting.give_up && setting.give_up()) {
      outcome.abandoned = true;
      return outcome;
    }
    over = simulation.events() >= most;
  }
  auto output = over ? std::unexpected(simulation.stop(
                           fmt::format("--max-events {} is used up", setting.max_events)))
                     : simulation.finish();
  outcome.checks = simulation.checks();
  if (output) {
    outcome.result = std::move(output->result);
    outcome.result.interval =
        step_interval(facts_of(experiment), outcome.result.step.time, setting.residuals);
    std::string limits = interval_warning(experiment, outcome.result, setting.residuals);
    if (!limits.empty()) outcome.result.warnings.push_back(std::move(limits));
    return outcome;
  }
  RunFailure& failure = output.error();
  outcome.failed = PointFailure{name_of(failure.kind), failure.message};
  outcome.result = failure.result ? std::move(*failure.result) : describe(experiment);
  outcome.result.stopped.reset();  // a line of a sweep tells of points that can be compared
  return outcome;
}

/// A value of a key as JSON: numbers as numbers where no digit gets lost.
Json json_of(const simcore::ConfigNode& node) {
  if (node.is_sequence() || node.is_map()) {
    Json json = node.is_map() ? Json::object() : Json::array();
    for (const simcore::ConfigNode& item : node.items()) json.push_back(json_of(item));
    for (const simcore::ConfigEntry& entry : node.entries()) json[entry.key] = json_of(entry.value);
    return json;
  }
  if (!node.is_scalar()) return nullptr;
  if (node.quoted()) return node.text();
  if (node.looks_like_bool()) return node.text() == "true";
  const auto number = simcore::parse_decimal_prefix(node.text());
  if (!number || number->length != node.text().size() || number->leading_zero) return node.text();
  if (const auto whole = number->to_whole()) return *whole;
  return number->to_double();
}

Json json_of_text(const std::string& value) {
  simcore::Diagnostics ignored;
  const auto node = simcore::read_yaml_value(
      std::make_shared<simcore::SourceText>(simcore::SourceText{"value", value}), 0, ignored);
  return node ? json_of(*node) : Json(value);
}

Json cost_json(const Cost& cost, const PriceList& prices) {
  Json json{{"currency", prices.currency}, {"dated", prices.dated}};
  json["per_hour"] = cost.per_hour;
  json["per_step"] = cost.per_step;
  json["per_million_tokens"] =
      cost.per_million_tokens ? Json(*cost.per_million_tokens) : Json(nullptr);
  return json;
}

/// The first error that tells of the machine, with its file; empty: all tell of the point.
std::string machine_failure(const simcore::Diagnostics& diagnostics) {
  for (const simcore::Diagnostic& one : diagnostics.all()) {
    if (one.severity != simcore::Severity::error) continue;
    if (!simcore::tells_of_machine(one.message)) continue;
    const auto& source = one.where.source;
    return source ? fmt::format("'{}' {}", source->name, one.message) : one.message;
  }
  return {};
}

std::vector<std::string> notes_of(const simcore::Diagnostics& diagnostics) {
  std::vector<std::string> notes;
  for (const simcore::Diagnostic& one : diagnostics.all()) {
    if (one.severity == simcore::Severity::warning) notes.push_back(one.message);
  }
  return notes;
}

/// The point's place and values, as its line begins.
Json point_json(const SweepPlan& plan, std::int64_t index) {
  Json line;
  line["schema"] = sweep_schema;
  Json& point = line["point"];
  point["index"] = index;
  point["of"] = plan.size();
  point["values"] = Json::object();
  for (const PointValue& one : plan.values(index)) {
    point["values"][one.key] = json_of_text(one.value);
  }
  return line;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Without what is long or depends on the machine.
Json body_of(const PointOutcome& outcome, const SweepSetting& setting, const std::string& hash) {
  Result result = outcome.result;
  result.memory.timeline.points.clear();
  result.simulator.version = setting.version;
  Json json = result_json(result);
  json.erase("schema");
  json["scenario"]["hash"] = hash;
  json["simulator"].erase("wall_s");
  json["simulator"].erase("peak_rss_bytes");
  if (outcome.failed) {
    json["step"] = nullptr;
    json["throughput"] = nullptr;
    if (outcome.rehearsed_only || outcome.failed->kind != "out_of_memory") json["memory"] = nullptr;
  }
  return json;
}

}  // namespace

PointOutcome run_point(const SweepPlan& plan, std::int64_t index, const SweepSetting& setting) {
  simcore::Diagnostics diagnostics;
  std::optional<Experiment> experiment;
  if (auto scenario = plan.scenario(index, diagnostics)) {
    experiment = build_experiment(std::move(*scenario), setting.experiment, diagnostics);
  }
  if (experiment && !diagnostics.has_errors()) {
    auto short_of_memory = setting.rehearse_memory ? rehearse(*experiment) : std::nullopt;
    PointOutcome outcome =
        short_of_memory ? std::move(*short_of_memory) : simulate(*experiment, setting);
    outcome.notes = notes_of(diagnostics);
    if (setting.prices && !setting.prices->gpus.contains(outcome.result.gpu)) {
      outcome.notes.push_back(
          fmt::format("no cost: the list of prices has none of {}", outcome.result.gpu));
    }
    outcome.result.warnings.insert(outcome.result.warnings.begin(), outcome.notes.begin(),
                                   outcome.notes.end());
    return outcome;
  }
  PointOutcome failed = failed_point(plan, index, bad_value(diagnostics));
  failed.machine_failure = machine_failure(diagnostics);
  failed.abandoned = !failed.machine_failure.empty();
  return failed;
}

PointOutcome failed_point(const SweepPlan& plan, std::int64_t index, PointFailure failure) {
  PointOutcome outcome;
  outcome.result.scenario_name = plan.base().spec.name;
  outcome.result.scenario_file = plan.base().file.string();
  outcome.result.overrides = plan.base().overrides;
  for (const PointValue& one : plan.values(index)) {
    outcome.result.overrides.push_back(one.key + "=" + one.value);
  }
  outcome.failed = std::move(failure);
  return outcome;
}

std::string point_head(const SweepPlan& plan, std::int64_t index) {
  std::string text = text_of(point_json(plan, index));
  text.pop_back();  // the brace that closes the line
  return text;
}

std::string point_line(const SweepPlan& plan, std::int64_t index, const PointOutcome& outcome,
                       const SweepSetting& setting, const std::string& measured) {
  Json line = point_json(plan, index);
  if (outcome.failed) {
    line["failed"] = {{"kind", outcome.failed->kind}, {"message", outcome.failed->message}};
  }
  line.update(body_of(outcome, setting, plan.hash()));
  if (setting.prices) {
    const auto cost = cost_of(outcome.result, *setting.prices);
    line["cost"] = cost ? cost_json(*cost, *setting.prices) : Json(nullptr);
  }
  if (!measured.empty()) line["measured"] = Json::parse(measured, nullptr, false);
  return text_of(line) + "\n";
}

}  // namespace shardsim::scenario
