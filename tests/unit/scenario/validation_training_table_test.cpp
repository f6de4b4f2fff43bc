#include "models/scenario/validation/training_table.hpp"
#include "validation_fixture.hpp"

namespace shardsim::scenario {
namespace {

using testing::Cells;
using testing::complete_run;
using testing::csv_of;
using testing::source_of;
using testing::with;

std::string refusal(std::string text) {
  simcore::Diagnostics diagnostics;
  CHECK_FALSE(TrainingTable::read(source_of(std::move(text)), diagnostics));
  return simcore::to_text(diagnostics);
}

bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("numbers are numbers, and empty where the source does not say") {
  const TrainingTable table = testing::table_of({complete_run()});
  const TrainingRun run(table, 0);
  CHECK(run.count("gpus") == 8);
  CHECK(run.amount("step_time_s") == 0.1);
  CHECK_FALSE(run.count("tp"));
  CHECK_FALSE(run.amount("peak_memory_GiB"));
  CHECK(run.text("model") == "Llama-2-7B");
  CHECK_FALSE(run.states("notes"));
}

TEST_CASE("missing columns are named together") {
  const std::string text = refusal("row_id,gpus,notes\nrun-1,8,\n");
  CHECK(mentions(text, "runs.csv: error: no table of training runs: missing columns"));
  CHECK(mentions(text, "micro_batch"));
  CHECK(mentions(text, "step_time_s"));
  CHECK_FALSE(mentions(text, "notes,"));
}

TEST_CASE("cells that are no numbers are reported where they stand") {
  for (const char* wrong : {"0", "-8", "8.5", "8 GPUs", "1e3", "99999999999999999999"}) {
    CAPTURE(wrong);
    const std::string text = refusal(csv_of({with(complete_run(), {{"gpus", wrong}})}));
    CHECK(mentions(text, "runs.csv:2:"));
    CHECK(mentions(text, "gpus: expected a whole number above 0"));
  }
  for (const char* wrong : {"0", "-1", "nan", "inf", "fast", "1.5 s"}) {
    CAPTURE(wrong);
    const std::string text = refusal(csv_of(
        {complete_run(), with(complete_run(), {{"row_id", "run-2"}, {"step_time_s", wrong}})}));
    CHECK(mentions(text, "runs.csv:3:"));
    CHECK(mentions(text, "step_time_s: expected a number above 0"));
  }
}

TEST_CASE("two runs of one name, or one without, are refused") {
  CHECK(mentions(refusal(csv_of({complete_run(), complete_run()})), "there is a row 'run-1'"));
  CHECK(mentions(refusal(csv_of({with(complete_run(), {{"row_id", ""}})})), "without a name"));
}

}  // namespace
}  // namespace shardsim::scenario
