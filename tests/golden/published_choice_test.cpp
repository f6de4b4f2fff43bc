// The best of published configurations: for a model on a cluster, a sweep over the configurations
// that were measured picks one whose measured speed is near the best measured one.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/scenario/sweep/pareto.hpp"
#include "models/scenario/sweep/sweep_plan.hpp"
#include "models/scenario/sweep/sweep_point.hpp"
#include "models/scenario/sweep/sweep_row.hpp"
#include "models/scenario/validation/run_mapping.hpp"
#include "simcore/config/flow_text.hpp"
#include "tests/golden/program.hpp"

namespace shardsim::scenario {
namespace {

const std::string root = SHARDSIM_SOURCE_DIR;
constexpr const char* sections[] = {"cluster", "workload", "training", "cpu", "nccl", "allocator"};

struct MeasuredRun {
  LoadedScenario scenario;
  double tokens_per_s_per_gpu = 0;
};

/// By model and cluster.
using Cases = std::map<std::string, std::vector<MeasuredRun>>;

Cases read_cases() {
  simcore::Diagnostics diagnostics;
  const std::string file = root + "/tests/golden/validation/choices.csv";
  const std::string rules_file = root + "/validation/training_rules.yaml";
  const auto table = TrainingTable::read(
      std::make_shared<simcore::SourceText>(simcore::SourceText{file, read_text(file)}),
      diagnostics);
  const auto rules = simcore::read_config_file<MappingRules>(rules_file, diagnostics);
  REQUIRE_MESSAGE((table && rules), simcore::to_text(diagnostics));
  Cases cases;
  for (std::size_t row = 0; row < table->rows(); ++row) {
    const TrainingRun run(*table, row);
    auto mapped = map_run(run, *rules, rules_file);
    REQUIRE_MESSAGE(mapped, mapped.error());
    // The blog and the README of fms-fsdp speak of the same models on the same clusters.
    const std::string source =
        run.text("model").starts_with("Llama2-") ? "fms-fsdp" : run.text("source_id");
    cases[source + ", " + run.text("model") + ", " + run.text("gpus") + " x " + run.text("gpu")]
        .push_back({std::move(*mapped), *run.amount("tokens_per_s_per_gpu")});
  }
  return cases;
}

/// One axis whose points are the runs: all sections of each.
SweepPlan plan_of(const std::vector<MeasuredRun>& runs) {
  SweepAxis axis;
  for (const char* section : sections) {
    AxisKey key{section, {}};
    for (const MeasuredRun& run : runs) {
      const simcore::ConfigNode* node = run.scenario.root.find(section);
      key.values.push_back(node != nullptr ? simcore::to_flow_text(*node) : "{}");
    }
    axis.keys.push_back(std::move(key));
  }
  simcore::Diagnostics diagnostics;
  auto plan = plan_sweep(runs.front().scenario, {axis}, "", diagnostics);
  REQUIRE_MESSAGE(plan, simcore::to_text(diagnostics));
  return std::move(*plan);
}

std::size_t pick(const std::vector<MeasuredRun>& runs, InputCache& inputs) {
  SweepSetting setting;
  setting.experiment.data = {root + "/topologies", root + "/scenarios"};
  setting.experiment.inputs = &inputs;
  const SweepPlan plan = plan_of(runs);
  std::vector<SweepRow> rows;
  for (std::int64_t index = 0; index < plan.size(); ++index) {
    const PointOutcome outcome = run_point(plan, index, setting);
    auto row = read_row(point_line(plan, index, outcome, setting));
    REQUIRE(row);
    rows.push_back(std::move(*row));
  }
  const auto constraint = parse_constraint("memory.fits");
  const auto best = best_row(rows, metric_id("throughput.tokens_per_s_per_gpu"),
                             std::vector<Constraint>{*constraint});
  REQUIRE(best);
  return *best;
}

TEST_CASE("the best of published configurations is within 5 % of the best measured one") {
  InputCache inputs;
  const Cases cases = read_cases();
  CHECK(cases.size() == 12);
  for (const auto& [name, runs] : cases) {
    CAPTURE(name);
    REQUIRE(runs.size() >= 2);
    const double fastest =
        std::ranges::max(runs, {}, &MeasuredRun::tokens_per_s_per_gpu).tokens_per_s_per_gpu;
    CHECK(runs[pick(runs, inputs)].tokens_per_s_per_gpu >= 0.95 * fastest);
  }
}

}  // namespace
}  // namespace shardsim::scenario
