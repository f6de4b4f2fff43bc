// The parts of a sweep: ranges, axes, the order of points, figures, constraints, choices.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/scenario/sweep/curve_plot.hpp"
#include "models/scenario/sweep/metric.hpp"
#include "models/scenario/sweep/pareto.hpp"
#include "models/scenario/sweep/price_list.hpp"
#include "models/scenario/sweep/search_space.hpp"
#include "models/scenario/sweep/shard.hpp"
#include "models/scenario/sweep/smallest.hpp"
#include "models/scenario/sweep/sweep_plan.hpp"
#include "models/scenario/sweep/sweep_row.hpp"
#include "models/scenario/sweep/sweep_table.hpp"
#include "models/scenario/sweep/value_range.hpp"

namespace shardsim::scenario {
namespace {

using Texts = std::vector<std::string>;

Texts range(std::string_view text) {
  const auto made = expand_range(text);
  REQUIRE_MESSAGE(made, made.error());
  REQUIRE(made->has_value());
  return **made;
}

LoadedScenario loaded(const Texts& overrides = {}) {
  simcore::Diagnostics diagnostics;
  auto made = load_scenario(
      std::string(SHARDSIM_SOURCE_DIR) + "/scenarios/fsdp2-llama-2-7b-4xdgx-h100.yaml", overrides,
      diagnostics);
  REQUIRE_MESSAGE(made, simcore::to_text(diagnostics));
  return std::move(*made);
}

SweepAxis axis(const std::string& text) {
  simcore::Diagnostics diagnostics;
  auto key = parse_axis_key(text, "--over", diagnostics);
  REQUIRE_MESSAGE(key, simcore::to_text(diagnostics));
  return SweepAxis{{std::move(*key)}};
}

TEST_CASE("a range runs in steps or factors, up or down, and ends at its last value if met") {
  CHECK(range("1..4") == Texts{"1", "2", "3", "4"});
  CHECK(range("4..1") == Texts{"4", "3", "2", "1"});
  CHECK(range("1..9+2") == Texts{"1", "3", "5", "7", "9"});
  CHECK(range("1..10+4") == Texts{"1", "5", "9"});
  CHECK(range("1..64*4") == Texts{"1", "4", "16", "64"});
  CHECK(range("64..1/8") == Texts{"64", "8", "1"});
  CHECK(range("9..1-4") == Texts{"9", "5", "1"});
  CHECK(range("0.1..0.3+0.1") == Texts{"0.1", "0.2", "0.3"});
  CHECK(range("100..400*2 Gbit/s") == Texts{"100 Gbit/s", "200 Gbit/s", "400 Gbit/s"});
  CHECK(range("7..7") == Texts{"7"});
  CHECK(range("1..1000000*10").size() == 7);
}

TEST_CASE("a range that never ends is refused, and what is no range is a value") {
  for (const char* text : {"1..8*1", "1..8+0", "8..1*2", "1..8/2", "0..8*2", "1..8-1"}) {
    CAPTURE(text);
    CHECK(!expand_range(text));
  }
  CHECK(!expand_range("1..10000000"));
  for (const char* text : {"1..", "1..x", "1..8*", "1..8*x", "2..8+"}) {
    CAPTURE(text);
    CHECK(!expand_range(text));
  }
  CHECK(expand_range("1-8").error().ends_with("found '1-8'; did you mean '1..8'?"));
  for (const char* text : {"", "4", "-8", "fsdp2", "../model.yaml", "a..b", "a-8", "1...3"}) {
    CAPTURE(text);
    const auto made = expand_range(text);
    REQUIRE(made);
    CHECK(!made->has_value());
  }
}

TEST_CASE("commas within brackets and quotes belong to a value of an axis") {
  const SweepAxis made = axis("training={strategy: ddp}, {strategy: fsdp2, sharding: no_shard}");
  REQUIRE(made.size() == 2);
  CHECK(made.keys[0].values[1] == "{strategy: fsdp2, sharding: no_shard}");
  CHECK(axis("name=\"a,b\",c").keys[0].values == Texts{"\"a,b\"", "c"});
  CHECK(axis("cluster.nodes=1..4*2,16").keys[0].values == Texts{"1", "2", "4", "16"});
}

TEST_CASE("points cross the axes, the first varying slowest, and zipped keys go together") {
  SweepAxis zipped = axis("cluster.nodes=1,2");
  zipped.keys.push_back(axis("workload.micro_batch_size=8,4").keys[0]);
  simcore::Diagnostics diagnostics;
  const auto plan =
      plan_sweep(loaded(), {zipped, axis("training.reduce_dtype=fp32,bf16,fp16")}, "", diagnostics);
  REQUIRE(plan);
  REQUIRE(plan->size() == 6);
  Texts seen;
  for (std::int64_t i = 0; i < plan->size(); ++i) {
    std::string text;
    for (const PointValue& one : plan->values(i)) text += one.value + " ";
    seen.push_back(text);
  }
  CHECK(seen ==
        Texts{"1 8 fp32 ", "1 8 bf16 ", "1 8 fp16 ", "2 4 fp32 ", "2 4 bf16 ", "2 4 fp16 "});
  const auto scenario = plan->scenario(4, diagnostics);
  REQUIRE(scenario);
  CHECK(scenario->spec.cluster.nodes == 2);
  CHECK(scenario->spec.workload.micro_batch_size == 4);
  CHECK(scenario->spec.training.reduce_dtype == training::ElementType::bf16);
}

TEST_CASE("the hash tells sweeps apart: scenario, axes, and what the caller adds") {
  const auto hash = [](const Texts& overrides, const std::string& over, const char* salt) {
    simcore::Diagnostics diagnostics;
    const auto plan = plan_sweep(loaded(overrides), {axis(over)}, salt, diagnostics);
    REQUIRE(plan);
    return plan->hash();
  };
  const std::string over = "cluster.nodes=1,2";
  std::set<std::string> hashes{
      hash({}, over, ""), hash({}, over, "x"), hash({}, "cluster.nodes=1,3", ""),
      hash({}, "workload.micro_batch_size=1,2", ""), hash({"workload.compile=true"}, over, "")};
  CHECK(hashes.size() == 5);
  CHECK(hashes.count(hash({}, over, "")) == 1);
}

TEST_CASE("axes are refused for unknown or repeated keys, unequal lengths and too many points") {
  const auto refused = [](std::vector<SweepAxis> axes) {
    simcore::Diagnostics diagnostics;
    CHECK(!plan_sweep(loaded(), std::move(axes), "", diagnostics));
    return simcore::to_text(diagnostics);
  };
  CHECK(refused({axis("cluster.nodez=1")}).contains("did you mean 'nodes'?"));
  CHECK(refused({axis("sweep=1")}).contains("no key that can be swept"));
  CHECK(refused({axis("cluster.nodes=1"), axis("cluster.nodes=2")}).contains("two axes set"));
  SweepAxis unequal = axis("cluster.nodes=1,2");
  unequal.keys.push_back(axis("workload.micro_batch_size=1").keys[0]);
  CHECK(refused({unequal}).contains("expected as many"));
  CHECK(refused({axis("cluster.nodes=1..10000"), axis("workload.micro_batch_size=1..10000")})
            .contains("1e+08 points, and a sweep has at most 10000000"));
}

TEST_CASE("elements of lists, dictionaries and alternatives can be swept") {
  simcore::Diagnostics diagnostics;
  CHECK(plan_sweep(loaded({"perturb=[{rank: 0, compute_slowdown: 1.5}]"}),
                   {axis("perturb[0].rank=0,1"), axis("nccl.env.NCCL_ALGO=Ring,Tree"),
                    axis("workload.model.layers=2,4")},
                   "", diagnostics));
}

TEST_CASE("the parts of a sweep are disjoint and together the whole") {
  for (const std::int64_t of : {1, 3, 8}) {
    std::set<std::int64_t> seen;
    std::int64_t count = 0;
    for (std::int64_t number = 1; number <= of; ++number) {
      const Shard shard{number, of};
      std::int64_t own = 0;
      for (std::int64_t i = 0; i < 20; ++i) {
        if (!shard.has(i)) continue;
        seen.insert(i);
        ++own;
      }
      CHECK(own == shard.size(20));
      count += own;
    }
    CHECK(seen.size() == 20);
    CHECK(count == 20);
  }
  CHECK(Shard{8, 8}.size(3) == 0);
  CHECK(parse_shard("2/8") == Shard{2, 8});
  for (const char* text : {"0/8", "9/8", "1", "1/0", "a/b", "-1/2", "1/2/3", "/"}) {
    CAPTURE(text);
    CHECK(!parse_shard(text));
  }
}

TEST_CASE("figures are found by their whole or last name, or their nearest is named") {
  CHECK(find_metric("step.time_s") == find_metric("time_s"));
  CHECK(metrics[*find_metric("tokens_per_s")].name() == "throughput.tokens_per_s");
  CHECK(find_metric("tokens_per_sec").error().contains("did you mean 'tokens_per_s'?"));
  CHECK(find_metric("colour").error().contains("expected one of step.time_s"));
}

TEST_CASE("constraints compare figures in their units") {
  MetricValues values;
  values[metric_id("step.time_s")] = 2.5;
  values[metric_id("memory.fits")] = 1;
  values[metric_id("memory.peak_reserved_bytes")] = 60.0 * (1LL << 30);
  const auto holds = [&](const char* text) {
    const auto constraint = parse_constraint(text);
    REQUIRE_MESSAGE(constraint, constraint.error());
    return constraint->holds(values);
  };
  CHECK(holds("memory.fits"));
  CHECK(holds("step.time_s < 3 s"));
  CHECK(holds("time_s<=2500 ms"));
  CHECK(!holds("step.time_s > 2.5 s"));
  CHECK(holds("peak_reserved_bytes <= 60 GiB"));
  CHECK(!holds("mfu > 10 %"));  // there is none
  for (const char* text :
       {"step.time_s", "step.time_s < 3", "memory.fits = maybe", "mfu > x", ""}) {
    CAPTURE(text);
    CHECK(!parse_constraint(text));
  }
  CHECK(parse_constraint("memory.peak_used_bytes < 2").error().find("found '2'") !=
        std::string::npos);
}

SweepRow row_of(std::int64_t index, double tokens, double bytes, double gpus) {
  SweepRow row;
  row.index = index;
  row.figures[metric_id("throughput.tokens_per_s")] = tokens;
  row.figures[metric_id("memory.peak_reserved_bytes")] = bytes;
  row.figures[metric_id("cluster.gpus")] = gpus;
  return row;
}

TEST_CASE("the best point satisfies the constraints, and the front holds what nothing beats") {
  std::vector<SweepRow> rows{row_of(0, 100, 50, 8), row_of(1, 120, 60, 8), row_of(2, 110, 70, 8),
                             row_of(3, 90, 50, 8),  row_of(4, 90, 50, 4),  row_of(5, 300, 10, 4)};
  rows[5].failed = "out_of_memory";
  const MetricId speed = metric_id("tokens_per_s");
  CHECK(best_row(rows, speed, {}) == 1);
  const std::vector<Constraint> small{*parse_constraint("peak_reserved_bytes <= 55 B")};
  CHECK(best_row(rows, speed, small) == 0);
  const std::vector<Constraint> none{*parse_constraint("gpus > 100")};
  CHECK(!best_row(rows, speed, none));
  CHECK(pareto_front(rows, {}) == std::vector<std::size_t>{1, 0, 4});
  CHECK(pareto_front(rows, none).empty());
}

TEST_CASE("the smallest size that holds is found, whichever it is, with few looks") {
  for (const std::int64_t count : {1, 2, 3, 10, 100}) {
    for (std::int64_t answer = 0; answer <= count; ++answer) {
      std::set<std::int64_t> looked;
      const auto found = smallest_that_holds(count, [&](std::int64_t at) {
        CHECK(looked.insert(at).second);
        return at >= answer;
      });
      CHECK(found == (answer < count ? std::optional(answer) : std::nullopt));
      CHECK(looked.size() <= 14);
    }
  }
  CHECK(!smallest_that_holds(0, [](std::int64_t) { return true; }));
}

TEST_CASE("the default space holds strategies, groups and batches that the scenario allows") {
  const auto axes = search_space(loaded(), {8, 8});
  REQUIRE(axes.size() == 3);
  const Texts& trainings = axes[0].keys[0].values;
  const auto mentions = [&](const char* text) {
    return std::ranges::any_of(trainings, [&](const auto& one) { return one.contains(text); });
  };
  for (const char* text : {"full_shard", "shard_grad_op", "hybrid_shard", "ddp", "zero3",
                           "shard_group: 16", "shard_group: 32"}) {
    CAPTURE(text);
    CHECK(mentions(text));
  }
  CHECK(!mentions("shard_group: 64"));
  CHECK(axes[1].keys[0].values == Texts{"none", "selective", "full"});
  CHECK(axes[2].keys[0].values == Texts{"1", "2", "4", "8", "16", "32", "64"});
  const auto held = search_space(loaded({"workload.gradient_accumulation=6"}), {1, 8});
  CHECK(held[2].keys[0].values == Texts{"1", "2", "3", "6"});
  CHECK(held[2].keys[1].values == Texts{"6", "3", "2", "1"});
}

TEST_CASE("a growing cluster keeps the global batch, or the micro-batch") {
  const LoadedScenario base = loaded({"workload.micro_batch_size=4"});
  const SweepAxis batch = growing_clusters(base.spec, {4, 8}, Hold::global_batch, 100);
  CHECK(batch.keys[0].values == Texts{"1", "2", "4", "8", "16"});
  CHECK(batch.keys[1].values == Texts{"4", "4", "4", "2", "1"});
  CHECK(batch.keys[2].values == Texts{"4", "2", "1", "1", "1"});
  CHECK(growing_clusters(base.spec, {4, 8}, Hold::micro_batch, 100).keys[0].values.size() == 100);
}

TEST_CASE("cost is GPUs times time times price, and nothing for GPUs without one") {
  PriceList prices;
  prices.gpus["H"] = {3.6, ""};
  Result result;
  result.gpu = "H";
  result.gpus = 10;
  result.step.time = simcore::SimTime::microseconds(2'000'000);
  result.throughput.tokens_per_s = 1000;
  const auto cost = cost_of(result, prices);
  REQUIRE(cost);
  CHECK(cost->per_hour == doctest::Approx(36));
  CHECK(cost->per_step == doctest::Approx(0.02));
  CHECK(*cost->per_million_tokens == doctest::Approx(10));
  result.gpu = "other";
  CHECK(!cost_of(result, prices));
}

TEST_CASE("rows read what lines hold, and nothing else is a row") {
  const std::string line =
      R"({"schema":"shardsim.sweep/1","point":{"index":1,"of":2,"values":{"cluster.nodes":4,"training":{"strategy":"ddp"}}},"scenario":{"hash":"ab"},"cluster":{"gpus":32,"gpu":"H"},"step":{"time_s":0.5},"memory":{"fits":true},"simulator":{"version":"9"}})";
  const auto row = read_row(line);
  REQUIRE(row);
  CHECK(row->index == 1);
  CHECK(row->values[1].value == R"({"strategy":"ddp"})");
  CHECK(row->figure(metric_id("step.time_s")) == 0.5);
  CHECK(row->figure(metric_id("memory.fits")) == 1.0);
  CHECK(!row->figure(metric_id("mfu")));
  CHECK(csv_row(*row).starts_with("1,4,\"{\"\"strategy\"\":\"\"ddp\"\"}\",H,0.5,"));
  CHECK(csv_row(*row).ends_with(",shardsim.sweep/1,9,ab\n"));
  for (const std::string& text :
       {line.substr(0, line.size() - 1), std::string("{}"), std::string("[]"), std::string(),
        std::string(R"({"schema":"shardsim.sweep/1"})"), std::string("\0\0", 2)}) {
    CHECK(!read_row(text));
  }
}

TEST_CASE("a curve shows every series and both ends of its axes") {
  CurvePlot plot("tokens_per_s");
  for (int i = 0; i < 4; ++i) {
    for (const char* kind : {"a", "b"}) {
      SweepRow row = row_of(i, 10.0 * (i + 1) + (kind[0] == 'b' ? 5 : 0), 1, 1);
      row.values = {{"cluster.nodes", std::to_string(1 << (2 * i))}, {"x.kind", kind}};
      plot.add(row);
    }
  }
  const std::string text = plot.draw(false);
  for (const char* part : {"throughput.tokens_per_s", "cluster.nodes (logarithmic)", "64", "45",
                           "o  kind=a", "x  kind=b"}) {
    CAPTURE(part);
    CHECK(text.contains(part));
  }
  CHECK(CurvePlot("tokens_per_s").draw(false).contains("no point"));
}

TEST_CASE("a bound in bytes may be as a summary prints it, and a column has one name") {
  const auto bound = parse_constraint("memory.peak_reserved_bytes < 79.1 GiB");
  REQUIRE(bound);
  CHECK(bound->bound == doctest::Approx(79.1 * (1 << 30)));
  CHECK_FALSE(parse_constraint("memory.peak_reserved_bytes < 79.1"));
  CHECK_FALSE(parse_constraint("memory.peak_reserved_bytes < 79.1 Gbit"));
  const std::string header = csv_header({"cluster.nodes"});
  CHECK(header.starts_with("index,cluster.nodes,gpu,"));
  CHECK(header.find(",result.cluster.nodes,") != std::string::npos);
  CHECK(header.find(",cluster.nodes,", 10) == std::string::npos);
}

TEST_CASE("a row carries its interval, and a note counts points without comparable runs") {
  const auto row_with = [](const std::string& step) {
    return read_row(
        R"({"schema":"shardsim.sweep/1","point":{"index":0,"of":3,"values":{}},"step":{)" + step +
        "}}");
  };
  const auto known = row_with(R"("interval_90_s":[0.5,1],"comparable":true,"comparable_what":"a")");
  const auto alone =
      row_with(R"("interval_90_s":[0.5,2],"comparable":false,"comparable_what":"b")");
  const auto prescribed = row_with(R"("interval_90_s":null,"comparable":false)");
  REQUIRE((known && alone && prescribed));
  CHECK(csv_row(*known).find(",0.5,1,true,,") != std::string::npos);
  CHECK(csv_row(*alone).find(",0.5,2,false,,") != std::string::npos);
  CHECK(csv_row(*prescribed).find(",,,,,shardsim.sweep/1") != std::string::npos);
  const std::string header = csv_header({});
  CHECK(std::ranges::count(header, ',') == std::ranges::count(csv_row(*known), ','));
  CHECK(std::ranges::count(header, ',') == std::ranges::count(csv_row(*prescribed), ','));
  CHECK(header.find(",step.interval_90_low_s,step.interval_90_high_s,step.comparable,failed,") !=
        std::string::npos);
  CHECK(sweep_note(std::vector<SweepRow>{*known, *prescribed}).empty());
  CHECK(sweep_note(std::vector<SweepRow>{*known, *alone, *prescribed}) ==
        "  No published run is comparable with 1 of 2 points; `run` names the nearest.\n");
  for (const char* broken : {"[1]", "[1,2,3]", R"(["1",2])", "1", "{}"}) {
    CHECK_FALSE(row_with(R"("interval_90_s":)" + std::string(broken))->interval_s);
  }
}

}  // namespace
}  // namespace shardsim::scenario
