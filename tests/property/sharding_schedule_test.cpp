// What holds for every sharded step, whatever the model, the settings, the times and the pace of
// the ranks: tried on runs drawn from printed seeds.
#include <deque>
#include <map>
#include <string>
#include <tuple>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/property/drawn_training.hpp"

namespace shardsim::training {
namespace {

constexpr std::uint32_t runs = 150;
constexpr int steps = 4;

std::string described(const DrawnRun& run) {
  return fmt::format(
      "{} blocks, {} ranks, {} micro-batches, {} {}, sync {}, backward prefetch {}, "
      "forward {}, limiter {}",
      run.blocks(), run.ranks, run.accumulation, simcore::print_value(run.spec.strategy),
      simcore::print_value(run.spec.sharding), simcore::print_value(run.spec.gradient_sync),
      simcore::print_value(run.spec.backward_prefetch), run.spec.forward_prefetch,
      run.spec.limit_all_gathers);
}

/// Calls `check(run, steps of one rank)` for every rank of every drawn run.
template <class Check>
void for_drawn_runs(Check check) {
  for (std::uint32_t seed = 1; seed <= runs; ++seed) {
    const DrawnRun run = draw_run(seed);
    INFO("seed " << seed << ": " << described(run));
    for (const std::vector<RunStep>& rank : run_drawn(run, seed, steps)) check(run, rank);
  }
}

/// One operation at a time per key, in issue order, and none before its CPU has issued it.
template <class Key>
void check_serial(const RunStep& step, Key key) {
  std::map<std::string, std::int64_t> free_at;
  for (const RunOperation& operation : step.operations) {
    const std::string& place = key(operation);
    if (place.empty()) continue;
    CHECK(operation.start_us >= free_at[place]);
    CHECK(operation.start_us >= operation.cpu_issue_us);
    CHECK(operation.end_us >= operation.start_us);
    free_at[place] = operation.end_us;
  }
}

TEST_CASE("streams and communicators run one operation at a time, in issue order") {
  for_drawn_runs([](const DrawnRun&, const std::vector<RunStep>& rank) {
    for (const RunStep& step : rank) {
      check_serial(step, [](const RunOperation& one) -> const std::string& { return one.stream; });
      check_serial(step,
                   [](const RunOperation& one) -> const std::string& { return one.communicator; });
    }
  });
}

TEST_CASE("ranks issue the collectives of a communicator in the same order") {
  for (std::uint32_t seed = 1; seed <= runs; ++seed) {
    const DrawnRun run = draw_run(seed);
    INFO("seed " << seed << ": " << described(run));
    const auto ranks = run_drawn(run, seed, 2);
    const auto order = [](const RunStep& step) {
      std::map<std::string, std::vector<std::string>> names;
      for (const RunOperation& one : step.operations) {
        if (!one.communicator.empty()) names[one.communicator].push_back(one.name);
      }
      return names;
    };
    for (const auto& rank : ranks) CHECK(order(rank.back()) == order(ranks.front().back()));
    // All ranks end a collective together.
    for (const auto& rank : ranks) {
      for (std::size_t i = 0; i < rank.front().operations.size(); ++i) {
        if (rank.front().operations[i].communicator.empty()) continue;
        CHECK(rank.front().operations[i].end_us == ranks[0].front().operations[i].end_us);
      }
    }
  }
}

struct Counts {
  std::int64_t all_gathers = 0;
  std::int64_t reduce_scatters = 0;
  std::int64_t all_reduces = 0;
  bool operator==(const Counts&) const = default;
};

/// Of a steady step. Blocks and the root are units; the root stays gathered after forward.
Counts expected_counts(const DrawnRun& run) {
  const std::int64_t units = run.blocks() + 1;
  const std::int64_t passes = run.accumulation;
  const TrainingSpec& spec = run.spec;
  const bool at_end = spec.gradient_sync == GradientSync::last_micro_batch;
  const std::int64_t reductions = at_end ? 1 : passes;
  if (spec.strategy == Strategy::ddp) return {0, 0, reductions * (units + 1)};  // head, embedding
  Counts counts;
  const bool reshards = spec.reshards_blocks();
  const bool keeps = spec.strategy == Strategy::fsdp1 && !reshards && at_end;
  counts.all_gathers = keeps ? units : passes * (units + (reshards ? units - 1 : 0));
  counts.reduce_scatters = reductions * units;
  if (spec.hybrid()) {
    const bool once = spec.gradient_sync != GradientSync::every_micro_batch;
    counts.all_reduces = (once ? 1 : passes) * units;
  }
  return counts;
}

TEST_CASE("collectives are as many as the strategy says") {
  for_drawn_runs([](const DrawnRun& run, const std::vector<RunStep>& rank) {
    const RunStep& step = rank.back();
    const Counts counts{step.count("AG"), step.count("RS"), step.count("AR")};
    const Counts expected = expected_counts(run);
    CHECK(counts.all_gathers == expected.all_gathers);
    CHECK(counts.reduce_scatters == expected.reduce_scatters);
    CHECK(counts.all_reduces == expected.all_reduces);
  });
}

TEST_CASE("DDP reduces one bucket first, rebuilt buckets after one iteration or, static, two") {
  for_drawn_runs([](const DrawnRun& run, const std::vector<RunStep>& rank) {
    if (run.spec.strategy != Strategy::ddp || run.accumulation > 1) return;
    const std::int64_t buckets = run.blocks() + 2;
    CHECK(rank[0].count("AR") == 1);
    CHECK(rank[1].count("AR") == (run.spec.static_graph ? 1 : buckets));
    CHECK(rank[2].count("AR") == buckets);
  });
}

void check_unit_order(const DrawnRun& run, const RunStep& step) {
  const int again = run.spec.reshards_blocks() ? 1 : 0;
  for (int block = 0; block < run.blocks(); ++block) {
    const RunOperation& forward = step.operation(named("F", block));
    const RunOperation& backward = step.operation(named("B", block));
    CHECK(step.operation(named("AG", block)).end_us <= forward.start_us);
    CHECK(step.operation(named("AG", block), again).end_us <= backward.start_us);
    CHECK(step.operation(named("RS", block)).start_us >= backward.end_us);
    if (run.spec.hybrid()) {
      CHECK(step.operation(named("AR", block)).start_us >=
            step.operation(named("RS", block)).end_us);
    }
  }
}

TEST_CASE("parameters come before compute, reductions after it, the optimizer after all of them") {
  for_drawn_runs([](const DrawnRun& run, const std::vector<RunStep>& rank) {
    for (const RunStep& step : rank) {
      const RunOperation& optimizer = step.operation("OPT");
      for (const RunOperation& operation : step.operations) {
        if (!operation.communicator.empty()) CHECK(operation.end_us <= optimizer.start_us);
        CHECK(operation.start_us >= 0);  // no gather before the last step's optimizer
      }
      if (run.spec.strategy != Strategy::ddp && run.accumulation == 1) check_unit_order(run, step);
    }
  });
}

TEST_CASE(
    "FSDP2 double-buffers in forward, gathers one unit ahead, and has one reduction waiting") {
  for (std::uint32_t seed = 1; seed <= runs; ++seed) {
    DrawnRun run = draw_run(seed);
    run.spec = {};
    run.spec.sharding = seed % 2 == 0 ? Sharding::full_shard : Sharding::hybrid_shard;
    run.groups = group_sizes(run.spec, 16, 4).value();
    run.accumulation = 1;
    INFO("seed " << seed << ": " << described(run));
    for (const auto& rank : run_drawn(run, seed, 2)) {
      for (const RunStep& step : rank) {
        for (int block = 2; block < run.blocks(); ++block) {
          CHECK(step.operation(named("AG", block)).start_us >=
                step.operation(named("CO", block - 2)).end_us);
        }
        for (int block = 1; block < run.blocks(); ++block) {
          CHECK(step.operation(named("AG", block - 1), 1).start_us >=
                step.operation(named("CO", block), 1).end_us);
          CHECK(step.operation(named("GCI", block - 1)).start_us >=
                step.operation(named("RS", block)).end_us);
        }
      }
    }
  }
}

TEST_CASE("reduce-scatters with a communicator of their own never come later") {
  for (std::uint32_t seed = 1; seed <= runs; ++seed) {
    DrawnRun run = draw_run(seed);
    run.spec = {};
    run.ranks = 1;
    INFO("seed " << seed << ": " << described(run));
    const auto shared = run_drawn(run, seed, 2).front().back();
    run.spec.separate_reduce_scatter_group = true;
    const auto separate = run_drawn(run, seed, 2).front().back();
    CHECK(separate.span_us <= shared.span_us);
    for (int block = 0; block < run.blocks(); ++block) {
      CHECK(separate.operation(named("RS", block)).start_us <=
            shared.operation(named("RS", block)).start_us);
    }
  }
}

using Interval = std::tuple<std::string, std::int64_t, std::int64_t>;

std::vector<Interval> intervals_of(const RunStep& step) {
  std::vector<Interval> intervals;
  for (const RunOperation& one : step.operations) {
    intervals.emplace_back(one.name, one.start_us, one.end_us);
  }
  std::ranges::sort(intervals);
  return intervals;
}

TEST_CASE("FSDP1 prefetching before or after a unit's backward is the same to an idle CPU's GPU") {
  for (std::uint32_t seed = 1; seed <= runs; ++seed) {
    DrawnRun run = draw_run(seed);
    run.spec.strategy = Strategy::fsdp1;
    run.spec.forward_prefetch = 0;
    run.spec.limit_all_gathers = false;
    run.spec.separate_reduce_scatter_group = false;
    run.spec.gradient_sync = GradientSync::every_micro_batch;
    const auto ran = [&](BackwardPrefetchPolicy policy) {
      run.spec.backward_prefetch.value = policy;
      ExplicitWorkload workload(run.times);  // issuing costs nothing
      return intervals_of(
          run_alone(record_program(run.spec, workload, run.groups, run.accumulation, 2)).back());
    };
    INFO("seed " << seed << ": " << described(run));
    CHECK(ran(BackwardPrefetchPolicy::pre) == ran(BackwardPrefetchPolicy::post));
  }
}

/// FSDP1's rate limiter on paper: one queue for the model's life, asked before each unit is
/// gathered, even where there is nothing to gather; two events or more let the oldest go.
class LimiterOnPaper {
 public:
  explicit LimiterOnPaper(const DrawnRun& run) : run_(run) {}

  /// The waits of the next step (one micro-batch), in order.
  std::vector<std::string> step() {
    waits_.clear();
    forward();
    backward();
    first_ = false;
    return waits_;
  }

 private:
  void ask(const std::string& unit) {
    if (events_.size() < 2) return;
    waits_.push_back(fmt::format("limiter@unshard({}) waits free({})", unit, events_.front()));
    events_.pop_front();
  }
  void forward() {
    const bool ahead = run_.spec.forward_prefetch == 1 && !first_;
    ask("R");
    if (ahead) ask("0");
    for (int block = 0; block < run_.blocks(); ++block) {
      if (!ahead) ask(std::to_string(block));
      if (ahead && block + 1 < run_.blocks()) ask(std::to_string(block + 1));
      if (run_.spec.reshards_blocks()) events_.push_back(named("fwd", block));
    }
  }
  void backward() {
    const auto policy = run_.spec.backward_prefetch.policy();
    const int last = run_.blocks() - 1;
    ask("R");
    if (policy == BackwardPrefetchPolicy::pre) ask(std::to_string(last));
    for (int block = last; block >= 0; --block) {
      const bool prefetched = policy == BackwardPrefetchPolicy::pre ||
                              (policy == BackwardPrefetchPolicy::post && block < last);
      if (!prefetched) ask(std::to_string(block));
      if (policy == BackwardPrefetchPolicy::pre && block > 0) ask(std::to_string(block - 1));
      events_.push_back(named("bwd", block));
      if (policy == BackwardPrefetchPolicy::post && block > 0) ask(std::to_string(block - 1));
    }
    events_.emplace_back("bwdR");
  }

  const DrawnRun& run_;
  std::deque<std::string> events_;
  std::vector<std::string> waits_;
  bool first_ = true;
};

TEST_CASE("FSDP1's limiter waits for the events that it does on paper, over steps") {
  for (std::uint32_t seed = 1; seed <= runs; ++seed) {
    DrawnRun run = draw_run(seed);
    run.spec.strategy = Strategy::fsdp1;
    run.spec.separate_reduce_scatter_group = false;
    run.spec.gradient_sync = GradientSync::every_micro_batch;
    run.spec.backward_prefetch.value =
        std::array{BackwardPrefetchPolicy::pre, BackwardPrefetchPolicy::post,
                   BackwardPrefetchPolicy::none}[seed % 3];
    run.spec.forward_prefetch = seed / 3 % 2;
    run.spec.limit_all_gathers = true;
    run.accumulation = 1;
    INFO("seed " << seed << ": " << described(run));
    const auto ranks = run_drawn(run, seed, steps);
    LimiterOnPaper paper(run);
    for (int step = 0; step < steps; ++step) {
      const std::vector<std::string> expected = paper.step();
      for (const auto& rank : ranks) {
        std::vector<std::string> waits;
        for (const RunWait& wait : rank[static_cast<std::size_t>(step)].cpu_waits) {
          waits.push_back(wait.name);
        }
        CHECK(waits == expected);
      }
    }
  }
}

TEST_CASE("without gradient sync nothing is reduced before the last micro-batch's backward") {
  for_drawn_runs([](const DrawnRun& run, const std::vector<RunStep>& rank) {
    if (run.spec.gradient_sync != GradientSync::last_micro_batch) return;
    const RunStep& step = rank.back();
    const std::int64_t last_backward = step.operation("headB", run.accumulation - 1).start_us;
    for (const RunOperation& one : step.operations) {
      if (one.communicator.empty() || one.name.starts_with("AG")) continue;
      CHECK(one.start_us >= last_backward);
    }
  });
}

TEST_CASE("a steady step repeats to the picosecond") {
  for_drawn_runs([](const DrawnRun& run, const std::vector<RunStep>& rank) {
    if (run.spec.static_graph) return;  // buckets settle a step later
    CHECK(rank[3].operations == rank[2].operations);
    CHECK(rank[3].span_us == rank[2].span_us);
  });
}

}  // namespace
}  // namespace shardsim::training
