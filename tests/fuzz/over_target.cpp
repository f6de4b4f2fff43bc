// `--over` and what else a sweep's command line holds, a line each: axes (lines that begin with
// '+' go with the axis before), shards, constraints.
#include <algorithm>
#include <utility>

#include "models/scenario/sweep/metric.hpp"
#include "models/scenario/sweep/search_space.hpp"
#include "models/scenario/sweep/shard.hpp"
#include "models/scenario/sweep/sweep_plan.hpp"
#include "tests/fuzz/memory_files.hpp"
#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

namespace {

void use(const scenario::SweepPlan& plan) {
  require(plan.hash().size() == 16, "a hash of another length");
  const std::int64_t points[] = {0, plan.size() / 2, plan.size() - 1};
  for (const std::int64_t index : points) {
    if (index < 0) continue;
    plan.values(index);
    simcore::Diagnostics diagnostics;
    const auto loaded = plan.scenario(index, diagnostics);
    check_messages(!loaded, diagnostics);
    if (!loaded) continue;
    scenario::search_space(*loaded, {loaded->spec.cluster.nodes, 8});
    for (const auto hold : {scenario::Hold::global_batch, scenario::Hold::micro_batch}) {
      scenario::growing_clusters(loaded->spec, {1, 8}, hold, 64);
    }
  }
}

void read_others(std::string_view line) {
  const auto shard = scenario::parse_shard(line);
  if (!shard) {
    require(!shard.error().empty(), "a refusal without a reason");
  } else {
    require(shard->number >= 1 && shard->number <= shard->of && shard->size(1000) >= 0,
            "a part that is none");
  }
  const auto constraint = scenario::parse_constraint(line);
  if (!constraint) {
    require(!constraint.error().empty(), "a refusal without a reason");
  } else {
    constraint->holds({});
    scenario::metric_text(constraint->metric, constraint->bound);
  }
  const auto metric = scenario::find_metric(line);
  if (!metric) require(!metric.error().empty(), "a refusal without a reason");
}

}  // namespace

void cross_axes(std::string_view input) {
  static const scenario::LoadedScenario base = [] {
    simcore::Diagnostics diagnostics;
    auto read = scenario::load_scenario(
        source_folder() / "scenarios" / "fsdp2-llama-2-7b-4xdgx-h100.yaml", {}, diagnostics);
    require(read.has_value(), "a shipped scenario cannot be read");
    return *read;
  }();
  simcore::Diagnostics diagnostics;
  std::vector<scenario::SweepAxis> axes;
  for (std::string_view line : lines_of(input, 6)) {
    read_others(line);
    const bool with = line.starts_with('+') && !axes.empty();
    if (with) line.remove_prefix(1);
    auto key = scenario::parse_axis_key(line, with ? "--with" : "--over", diagnostics);
    if (!key) continue;
    if (!with) axes.emplace_back();
    axes.back().keys.push_back(std::move(*key));
  }
  check_messages(false, diagnostics);
  if (diagnostics.has_errors()) return;
  const auto plan = scenario::plan_sweep(base, std::move(axes), "salt", diagnostics);
  check_messages(!plan, diagnostics);
  if (plan) use(*plan);
}

}  // namespace shardsim::fuzz
