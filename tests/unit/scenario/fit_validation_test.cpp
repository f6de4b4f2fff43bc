#include "models/scenario/validation/fit_validation.hpp"

#include <doctest/doctest.h>

#include "tests/unit/scenario/validation_fixture.hpp"

namespace shardsim::scenario {
namespace {

using namespace testing;

TrainingValidation shipped_options() {
  TrainingValidation options;
  options.rules = shipped_rules();
  options.rules_file = shipped_rules_file();
  options.data = {shipped("topologies"), shipped("scenarios")};
  return options;
}

/// Nothing of it fits on any GPU: the logits of this many sequences alone do not.
Cells huge(const Cells& changes) {
  return with(with(complete_run(), {{"micro_batch", "4000"}, {"step_time_s", ""}}), changes);
}

FitReport fits_of(const std::vector<Cells>& fitting, const std::vector<Cells>& others) {
  const TrainingValidation options = shipped_options();
  return validate_fits(table_of(others), validate_training(table_of(fitting), options), options);
}

TEST_CASE("forecasts tell runs that fit from runs that do not") {
  const FitReport report = fits_of({complete_run()}, {huge({{"row_id", "oom-1"}})});
  REQUIRE(report.rows.size() == 2);
  CHECK(report.rows[0].id == "oom-1");
  CHECK_FALSE(report.rows[0].measured);
  CHECK(report.rows[0].predicted == false);
  CHECK(report.rows[1].measured);
  CHECK(report.rows[1].predicted == true);
  REQUIRE(report.summary.size() == 3);  // all, family, source
  CHECK(report.summary[0].group == "all");
  CHECK(report.summary[1].group == "FSDP");
  CHECK(report.summary[2].group == "somewhere");
  CHECK(report.summary[0].fits_right == 1);
  CHECK(report.summary[0].shortages_right == 1);
  CHECK(report.summary[0].share_right() == 1);
}

TEST_CASE("a run that fits in the forecast alone is wrong, and named") {
  const FitReport report =
      fits_of({complete_run()}, {with(complete_run(), {{"row_id", "oom-small"}})});
  CHECK(report.rows[0].predicted == true);
  CHECK(report.summary[0].shortages == 1);
  CHECK(report.summary[0].shortages_right == 0);
  CHECK(report.summary[0].share_right() == 0.5);
  CHECK(to_text(report).find("wrong: oom-small, which does not fit") != std::string::npos);
}

TEST_CASE("what a source leaves out counts only where it makes no difference") {
  const Cells silent{{"act_ckpt", ""}, {"compile", ""}, {"grad_accum", ""}};
  const FitReport sure = fits_of({complete_run()}, {huge(silent)});
  CHECK(sure.rows[0].predicted == false);
  // Sixteen layers of activations do not fit without checkpointing, their inputs alone do.
  const FitReport unsure =
      fits_of({complete_run()},
              {with(huge(silent), {{"layers", "40"}, {"vocab", "1000"}, {"micro_batch", "100"}})});
  CHECK_FALSE(unsure.rows[0].predicted);
  CHECK(unsure.rows[0].why_not == "it depends on what the source does not say: act_ckpt, compile");
}

TEST_CASE("runs that cannot be mapped say why and count nowhere") {
  const FitReport report = fits_of({complete_run()}, {huge({{"tp", "8"}})});
  CHECK(report.rows[0].why_not == "tensor parallelism is not simulated (tp = 8)");
  CHECK_FALSE(report.rows[0].mapped);
  CHECK(report.summary[0].shortages == 0);
}

TEST_CASE("ZeRO-1 without tensor and pipeline parallelism is mapped from its trainer's name") {
  const FitReport report =
      fits_of({complete_run()}, {huge({{"framework", "Megatron-like (Aleph Alpha AA-Scaling)"},
                                       {"sharding", "ZeRO-1 (per paper)"}})});
  CHECK(report.rows[0].family == "ZeRO");
  CHECK(report.rows[0].predicted == false);
}

}  // namespace
}  // namespace shardsim::scenario
