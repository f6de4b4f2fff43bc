#include "models/scenario/validation/validation_report.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "models/scenario/validation/training_validation.hpp"
#include "validation_fixture.hpp"

namespace shardsim::scenario {
namespace {

using testing::complete_run;
using testing::with;

ValidationRow row(std::string id, double measured, double predicted) {
  ValidationRow made;
  made.id = std::move(id);
  made.quantity = step_time;
  made.measured = measured;
  made.predicted = predicted;
  made.mapped = true;
  made.groups = {{1, "fine"}, {0, "all"}};
  return made;
}

ValidationReport validate(const std::vector<testing::Cells>& runs) {
  TrainingValidation options;
  options.rules = testing::shipped_rules();
  options.rules_file = testing::shipped_rules_file();
  options.data = {testing::shipped("topologies"), testing::shipped("scenarios")};
  return validate_training(testing::table_of(runs), options);
}

TEST_CASE("an error is predicted over measured less one") {
  CHECK(row("a", 2, 3).relative_error() == 0.5);
  ValidationRow none = row("a", 2, 3);
  none.predicted.reset();
  CHECK_FALSE(none.relative_error());
}

TEST_CASE("groups: median and 90th percentile of absolute errors, mean of errors") {
  std::vector<ValidationRow> rows;
  for (const double error : {-0.1, 0.2, -0.3, 0.4, 0.0}) rows.push_back(row("r", 1, 1 + error));
  const std::vector<GroupScore> scores = score_groups(rows);
  REQUIRE(scores.size() == 2);
  CHECK(scores[0].group == "step_time_s, all");  // the lower level first
  CHECK(scores[0].rows == 5);
  CHECK(scores[0].median_abs_error == doctest::Approx(0.2));
  CHECK(scores[0].p90_abs_error == doctest::Approx(0.36));  // between 0.3 and 0.4
  CHECK(scores[0].bias == doctest::Approx(0.04));
}

TEST_CASE(
    "the share of forecast runs counts runs, not lines, and only those that ought to have one") {
  ValidationReport report;
  report.rows = {row("a", 1, 1), row("a", 1, 1), row("b", 1, 1), row("c", 1, 1)};
  CHECK(to_text(mapped_share(report)).empty());
  for (std::size_t i = 0; i < 3; ++i) report.rows[i].ought_to_map = true;
  report.rows[2].mapped = false;
  CHECK(mapped_share(report).runs == 2);
  CHECK(mapped_share(report).mapped == 1);
  CHECK(to_text(report).find("1 of 2 FSDP runs") != std::string::npos);
}

TEST_CASE("one row is its own median; rows without error or not to be scored count nowhere") {
  std::vector<ValidationRow> rows{row("a", 1, 1.1), row("b", 1, 9), row("c", 1, 9)};
  rows[1].scored = false;
  rows[2].predicted.reset();
  const std::vector<GroupScore> scores = score_groups(rows);
  CHECK(scores[0].rows == 1);
  CHECK(scores[0].p90_abs_error == doctest::Approx(0.1));
  CHECK(score_groups({}).empty());
}

TEST_CASE("no run is dropped: each has a line for what was measured, or one that says why not") {
  const ValidationReport report = validate({
      complete_run(),
      with(complete_run(),
           {{"row_id", "both"}, {"peak_memory_GiB", "20"}, {"peak_memory_kind", "max_reserved"}}),
      with(complete_run(), {{"row_id", "refused"}, {"tp", "2"}}),
      with(complete_run(), {{"row_id", "nothing"}, {"step_time_s", ""}}),
      with(complete_run(), {{"row_id", "unready"}, {"sim_ready", "N"}}),
      with(complete_run(), {{"row_id", "vague"}, {"step_time_s", ""}, {"peak_memory_GiB", "20"}}),
  });
  REQUIRE(report.rows.size() == 7);
  CHECK(report.rows[0].why_not.empty());
  CHECK(report.rows[0].predicted > 0.0);
  CHECK(report.rows[2].quantity == peak_memory);
  CHECK(report.rows[2].measured == 20.0 * 1024 * 1024 * 1024);
  CHECK(report.rows[2].predicted > 1e9);
  CHECK_FALSE(report.rows[3].mapped);
  CHECK(report.rows[4].mapped);
  CHECK(report.rows[4].why_not == "the source prints neither step time nor memory");
  CHECK_FALSE(report.rows[5].mapped);
  CHECK(report.rows[6].quantity == peak_memory);
  CHECK(report.rows[6].why_not.find("peak of memory") != std::string::npos);
}

TEST_CASE("a step time that is not printed follows from the throughput") {
  const ValidationReport report =
      validate({with(complete_run(), {{"step_time_s", ""}, {"tokens_per_s_per_gpu", "8192"}})});
  CHECK(report.rows[0].measured == 0.5);  // 2 x 2048 tokens
}

TEST_CASE("runs of trust C are forecast and listed, but not scored") {
  const ValidationReport report = validate({with(complete_run(), {{"trust", "C"}})});
  CHECK(report.rows[0].predicted);
  CHECK(report.summary.empty());
}

TEST_CASE("a run that does not fit into memory has no forecast but its reason") {
  const ValidationReport report = validate({with(complete_run(), {{"micro_batch", "2000"}})});
  CHECK(report.rows[0].mapped);
  CHECK_FALSE(report.rows[0].predicted);
  CHECK(report.rows[0].why_not.find("out of memory") != std::string::npos);
}

TEST_CASE("JSON: what is not there is null") {
  ValidationReport report;
  report.rows = {row("a", 2, 3)};
  report.rows.push_back({});
  report.rows.back().id = "b";
  report.rows.back().quantity = step_time;
  report.rows.back().why_not = "because";
  report.summary = score_groups(report.rows);
  const auto json = nlohmann::json::parse(to_json(report));
  CHECK(json["rows"][0]["relative_error"] == 0.5);
  CHECK(json["rows"][0]["mapped"] == true);
  CHECK(json["rows"][0]["why_not"].is_null());
  CHECK(json["rows"][1]["predicted"].is_null());
  CHECK(json["rows"][1]["why_not"] == "because");
  CHECK(json["summary"][0]["group"] == "step_time_s, all");
  CHECK(json["summary"][0]["rows"] == 1);
}

TEST_CASE("text: the reasons are counted by run, most frequent first") {
  const std::string text = to_text(validate({
      with(complete_run(), {{"row_id", "a"}, {"tp", "2"}, {"peak_memory_GiB", "20"}}),
      with(complete_run(), {{"row_id", "b"}, {"tp", "2"}}),
      with(complete_run(), {{"row_id", "c"}, {"framework", "homemade"}}),
  }));
  const auto tensor = text.find("2  tensor parallelism");
  const auto framework = text.find("1  no rule for framework");
  CHECK(tensor != std::string::npos);
  CHECK(framework != std::string::npos);
  CHECK(tensor < framework);
}

}  // namespace
}  // namespace shardsim::scenario
