// Training runs drawn at random, with their invariants watched: the same whether one rank stands
// for its class or all are simulated; a better machine is never slower unless the result says why
// (another choice of NCCL's, more interference); and no step is shorter than what it computes and
// moves.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "models/scenario/experiment.hpp"
#include "models/scenario/simulation.hpp"
#include "tests/property/drawn_scenario.hpp"

namespace shardsim::scenario {
namespace {

using simcore::SimTime;

constexpr std::uint64_t first_seed = 5000;

/// A file with a drawn scenario, gone with the object.
class DrawnFile {
 public:
  explicit DrawnFile(std::uint64_t seed)
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("shardsim-run-{}-{}.yaml", getpid(), seed)) {
    std::ofstream(path_) << drawn::random_scenario(seed);
  }
  ~DrawnFile() { std::filesystem::remove(path_); }
  DrawnFile(const DrawnFile&) = delete;
  DrawnFile& operator=(const DrawnFile&) = delete;

  std::optional<LoadedScenario> load(const std::vector<std::string>& overrides) const {
    simcore::Diagnostics diagnostics;
    return load_scenario(path_, overrides, diagnostics);
  }

 private:
  std::filesystem::path path_;
};

struct Way {
  std::string fidelity = "flow";
  bool exact = false;
  bool at_once = false;  ///< all ranks, operation by operation
  bool check = true;
  HardwareChanges changes{};
};

/// Nothing if the scenario has no valid groups.
std::optional<Result> run(const DrawnFile& file, const Way& way) {
  simcore::Diagnostics diagnostics;
  auto loaded = file.load({"fidelity=" + way.fidelity});
  REQUIRE(loaded.has_value());
  const ExperimentOptions options{
      {drawn::root / "topologies", drawn::root / "scenarios"}, way.exact, way.changes};
  const auto experiment = build_experiment(std::move(*loaded), options, diagnostics);
  if (!experiment || diagnostics.has_errors()) return std::nullopt;
  SimulationOptions wishes;
  wishes.check = way.check;
  if (way.at_once) wishes.most_logged = 0;
  Simulation simulation(*experiment, wishes);
  while (simulation.advance(1 << 20)) {
  }
  auto output = simulation.finish();
  REQUIRE_MESSAGE(output.has_value(), output.error().message);
  return std::move(output->result);
}

/// How NCCL carries out the collectives of a step.
std::string choices(const Result& result) {
  std::string text;
  for (const CollectiveResult& one : result.collectives) {
    text += fmt::format("{} {} {} {} {}; ", one.kind, one.group, one.algorithm, one.protocol,
                        one.channels);
  }
  return text;
}

}  // namespace

TEST_CASE("invariants hold, and watching them changes nothing, whoever stands for whom") {
  MESSAGE("seeds from ", first_seed);
  int ran = 0;
  for (std::uint64_t seed = first_seed; ran < 12 && seed < first_seed + 60; ++seed) {
    CAPTURE(seed);
    const DrawnFile file(seed);
    const auto classes = run(file, {});
    if (!classes) continue;
    ++ran;
    Way unwatched;
    unwatched.check = false;
    CHECK(to_json(*run(file, unwatched)) == to_json(*classes));
    for (const bool at_once : {false, true}) {
      Way way;
      way.exact = true;
      way.at_once = at_once;
      const auto exact = run(file, way);
      REQUIRE(exact.has_value());
      const double error = exact->step.time.seconds() / classes->step.time.seconds() - 1;
      CHECK(std::abs(error) <= 1e-9);
    }
  }
  CHECK(ran == 12);
}

TEST_CASE("a step takes at least what it computes, and alike at each fidelity") {
  MESSAGE("seeds from ", first_seed);
  int ran = 0;
  double worst = 0;
  for (std::uint64_t seed = first_seed; ran < 12 && seed < first_seed + 60; ++seed) {
    CAPTURE(seed);
    const DrawnFile file(seed);
    const auto flow = run(file, {});
    if (!flow) continue;
    ++ran;
    CHECK(flow->step.time >= flow->step.compute);
    CHECK(flow->step.time >= flow->step.exposed_communication);
    CHECK(flow->step.communication >= flow->step.exposed_communication);
    Way way;
    way.fidelity = "chunk";
    const auto chunk = run(file, way);
    REQUIRE(chunk.has_value());
    const double error = chunk->step.time.seconds() / flow->step.time.seconds() - 1;
    worst = std::max(worst, std::abs(error));
    CHECK(std::abs(error) <= 0.05);
    way.fidelity = "model";
    const auto model = run(file, way);
    REQUIRE(model.has_value());
    const double ratio = model->step.time.seconds() / flow->step.time.seconds();
    CHECK(ratio <= 2.5);
    CHECK(ratio >= 0.4);
  }
  CHECK(ran == 12);
  MESSAGE("chunk differs from flow by up to ", worst);
}

TEST_CASE(
    "a better machine is never slower unless NCCL chooses otherwise or kernels interfere more") {
  MESSAGE("seeds from ", first_seed);
  std::vector<std::pair<std::string, HardwareChanges>> better(4);
  better[0] = {"network", {}};
  better[0].second.network_bandwidth = 1.5;
  better[1] = {"NVLink", {}};
  better[1].second.nvlink_bandwidth = 1.5;
  better[2] = {"memory", {}};
  better[2].second.memory_bandwidth = 1.5;
  better[3] = {"arithmetic", {}};
  better[3].second.arithmetic_rate = 1.5;
  int ran = 0;
  int otherwise = 0;
  for (std::uint64_t seed = first_seed; ran < 25 && seed < first_seed + 100; ++seed) {
    CAPTURE(seed);
    const DrawnFile file(seed);
    Way way;
    way.check = false;
    const auto before = run(file, way);
    if (!before) continue;
    ++ran;
    for (const auto& [what, changes] : better) {
      CAPTURE(what);
      way.changes = changes;
      const auto after = run(file, way);
      REQUIRE(after.has_value());
      const SimTime slower = after->step.time - before->step.time;
      if (slower <= SimTime{}) continue;
      ++otherwise;
      // A faster collective leaves the kernels beside it less of the GPU's memory at once; what
      // that costs is told apart.
      const SimTime interference = after->step.interference - before->step.interference;
      CHECK_MESSAGE((choices(*after) != choices(*before) || slower <= interference),
                    fmt::format("{} became {}\n{}", simcore::to_text(before->step.time),
                                simcore::to_text(after->step.time), drawn::random_scenario(seed)));
    }
  }
  CHECK(ran == 25);
  MESSAGE(otherwise, " steps were slower, with another choice or more interference");
}

}  // namespace shardsim::scenario
