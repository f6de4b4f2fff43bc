// A point that the machine cannot run, and a line that was changed.
#include "models/scenario/sweep/sweep_point.hpp"

#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "models/scenario/sweep/row_check.hpp"
#include "simcore/machine_failure.hpp"

namespace shardsim::scenario {
namespace {

/// As long as it is there no further file can be opened.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int next = open("/dev/null", O_RDONLY);
    close(next);
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(next);
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST_CASE("a point whose input the machine cannot read is abandoned, and runs later") {
  const std::string root = SHARDSIM_SOURCE_DIR;
  simcore::Diagnostics diagnostics;
  auto base = load_scenario(root + "/scenarios/textbook-fsdp2.yaml", {}, diagnostics);
  auto key = parse_axis_key("workload.explicit.block_forward=1 ms,-1 ms", "--over", diagnostics);
  REQUIRE(base);
  REQUIRE(key);
  const auto plan = plan_sweep(std::move(*base), {SweepAxis{{*key}}}, "", diagnostics);
  REQUIRE(plan);
  SweepSetting setting;
  setting.experiment.data.topologies = root + "/topologies";
  setting.experiment.data.scenarios = root + "/scenarios";
  {
    const NoDescriptors none;
    const PointOutcome outcome = run_point(*plan, 0, setting);
    CHECK(outcome.abandoned);
    CHECK_MESSAGE(outcome.machine_failure.contains("Too many open files"), outcome.machine_failure);
  }
  const PointOutcome good = run_point(*plan, 0, setting);
  CHECK(good.machine_failure.empty());
  CHECK(!good.failed);
  const std::string line = point_line(*plan, 0, good, setting);
  CHECK(line.starts_with(point_head(*plan, 0) + ","));
  CHECK(row_flaw(line) == "");
  const PointOutcome bad = run_point(*plan, 1, setting);
  CHECK(bad.machine_failure.empty());
  CHECK(!bad.abandoned);
  CHECK(bad.failed);
  CHECK(row_flaw(point_line(*plan, 1, bad, setting)) == "");
}

TEST_CASE("messages of files tell the machine's faults from the files' own") {
  CHECK(simcore::tells_of_machine("cannot be opened: Too many open files"));
  CHECK(simcore::tells_of_machine("'x' cannot be opened: Input/output error"));
  CHECK(simcore::tells_of_machine("cannot be read"));
  CHECK(!simcore::tells_of_machine("cannot be opened: No such file or directory"));
  CHECK(!simcore::tells_of_machine("cannot be opened: Permission denied"));
  CHECK(!simcore::tells_of_machine("is a directory"));
}

}  // namespace
}  // namespace shardsim::scenario
