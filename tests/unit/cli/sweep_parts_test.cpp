// Which part of a sweep a task runs, where its points go, and how many tasks there are.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

#include "cli/shard_environment.hpp"
#include "cli/shell_text.hpp"
#include "cli/sweep_journal.hpp"
#include "cli/sweep_submit.hpp"
#include "models/scenario/sweep/sweep_row.hpp"

namespace shardsim::cli {
namespace {

using scenario::Shard;
using Variables = std::map<std::string, std::string>;

Environment environment(const Variables& variables) {
  return [variables](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  };
}

Shard chosen(const std::string& option, const Variables& variables) {
  const auto made = choose_shard(option, environment(variables));
  REQUIRE_MESSAGE(made, made.error());
  return made->shard;
}

TEST_CASE("the part comes from the scheduler's environment unless it is given") {
  CHECK(chosen("", {}) == Shard{1, 1});
  CHECK(chosen("2/3", {{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "8"}}) ==
        Shard{2, 3});
  CHECK(chosen("", {{"OMPI_COMM_WORLD_RANK", "5"}, {"OMPI_COMM_WORLD_SIZE", "8"}}) == Shard{6, 8});
  CHECK(chosen("auto", {{"PMI_RANK", "0"}, {"PMI_SIZE", "4"}}) == Shard{1, 4});
  CHECK(chosen("", {{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}}) == Shard{4, 4});
  CHECK(chosen("auto/6", {{"JOB_COMPLETION_INDEX", "5"}}) == Shard{6, 6});
}

TEST_CASE("an array counts from its first index in its own steps, and is cut again by processes") {
  const Variables array{{"SLURM_ARRAY_TASK_ID", "14"},
                        {"SLURM_ARRAY_TASK_MIN", "10"},
                        {"SLURM_ARRAY_TASK_STEP", "2"},
                        {"SLURM_ARRAY_TASK_COUNT", "4"}};
  CHECK(chosen("", array) == Shard{3, 4});
  Variables both = array;
  both["SLURM_PROCID"] = "1";
  both["SLURM_STEP_NUM_TASKS"] = "2";
  CHECK(chosen("", both) == Shard{6, 8});
}

TEST_CASE("a part that cannot be known is an error, not the whole sweep") {
  CHECK(!choose_shard("auto", environment({})));
  CHECK(!choose_shard("", environment({{"JOB_COMPLETION_INDEX", "0"}})));
  CHECK(!choose_shard("auto/4", environment({{"JOB_COMPLETION_INDEX", "4"}})));
  CHECK(!choose_shard("auto/4", environment({{"PMI_RANK", "0"}, {"PMI_SIZE", "8"}})));
  CHECK(!choose_shard("auto/x", environment({})));
  CHECK(!choose_shard("3/2", environment({})));
}

TEST_CASE("parts that nobody named get names of their own") {
  CHECK(shard_file("points.jsonl", {3, 8}) == "points.3-of-8.jsonl");
  CHECK(shard_file("a.b/points", {1, 2}) == "a.b/points.1-of-2");
  CHECK(shard_file("points.jsonl", {1, 1}) == "points.jsonl");
  CHECK(shard_file("-", {1, 2}) == "-");
}

TEST_CASE("tasks last about as long as asked, with at least a point each") {
  CHECK(tasks_for(10'000, 6.0, 1, 5) == 200);
  CHECK(tasks_for(10'000, 6.0, 4, 5) == 50);
  CHECK(tasks_for(10, 1e-3, 1, 5) == 1);
  CHECK(tasks_for(8, 1e6, 1, 5) == 8);
  CHECK(tasks_for(1'000'000, 60, 1, 1) == 1000);
}

TEST_CASE("words are quoted for the shell where they must be") {
  CHECK(shell_quoted("cluster.nodes=1") == "cluster.nodes=1");
  CHECK(shell_quoted("a b") == "'a b'");
  CHECK(shell_quoted("it's") == "'it'\\''s'");
  CHECK(shell_quoted("") == "''");
}

std::string line(int index) {
  return R"({"schema":"shardsim.sweep/1","point":{"index":)" + std::to_string(index) +
         R"(,"of":4,"values":{}},"failed":{"kind":"deadlock","message":"m"},"scenario":{"hash":"h"},)"
         R"("cluster":{"gpus":8,"nodes":1},"step":null,"throughput":null,"memory":null,)"
         R"("collectives":[],"links":[],"critical_path":[],"warnings":[],"simulator":{}})" +
         "\n";
}

class JournalFile {
 public:
  JournalFile() {
    std::string pattern = (std::filesystem::temp_directory_path() / "shardsim-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~JournalFile() { std::filesystem::remove_all(folder_); }
  std::string path() const { return (folder_ / "points.jsonl").string(); }
  void write(const std::string& text) const { std::ofstream(path(), std::ios::binary) << text; }
  std::string text() const {
    std::ifstream in(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::filesystem::path folder_;
};

TEST_CASE("lines are appended as they come, and sorted at the end") {
  const JournalFile file;
  auto journal = SweepJournal::create(file.path());
  REQUIRE(journal);
  for (const int index : {2, 0, 3, 1}) CHECK(journal->append(index, line(index)));
  CHECK(file.text() == line(2) + line(0) + line(3) + line(1));
  CHECK(journal->finish());
  CHECK(file.text() == line(0) + line(1) + line(2) + line(3));
}

TEST_CASE("a journal that was cut off goes on with its whole lines") {
  const JournalFile file;
  file.write(line(2) + line(0) + line(1).substr(0, 40));
  auto journal = SweepJournal::resume(file.path(), {"h", 4});
  REQUIRE_MESSAGE(journal, journal.error());
  CHECK(journal->size() == 2);
  CHECK(journal->has(0));
  CHECK(!journal->has(1));
  CHECK(journal->append(1, line(1)));
  CHECK(file.text() == line(2) + line(0) + line(1));
}

TEST_CASE("lines that a crash spoilt and points that are there twice are dropped") {
  const JournalFile file;
  file.write(line(0) + std::string(30, '\0') + "\n" + line(0) + line(3));
  auto journal = SweepJournal::resume(file.path(), {"h", 4});
  REQUIRE_MESSAGE(journal, journal.error());
  CHECK(journal->size() == 2);
  CHECK(file.text() == line(0) + line(3));
}

TEST_CASE("another sweep's file, or no sweep's at all, is left alone") {
  const JournalFile file;
  file.write(line(0));
  CHECK(!SweepJournal::resume(file.path(), {"other", 4}));
  CHECK(!SweepJournal::resume(file.path(), {"h", 5}));
  CHECK(file.text() == line(0));
  file.write("name: a scenario\n");
  CHECK(!SweepJournal::resume(file.path(), {"h", 4}));
  CHECK(file.text() == "name: a scenario\n");
  CHECK(!SweepJournal::create("/nonexistent/points.jsonl"));
}

TEST_CASE("what is no piece of this sweep is not cut off, and nothing else of its file is") {
  const JournalFile file;
  const std::string head = R"({"schema":"shardsim.sweep/1","point":{"index":1)";
  const auto refused = [&file](const std::string& text) {
    CAPTURE(text);
    file.write(text);
    CHECK(!SweepJournal::resume(file.path(), {"h", 4}));
    CHECK((file.text() == text));
  };
  refused("precious data without newline");
  refused("my thesis\nchapter 1\nlast line without newline");
  refused("{");
  refused(std::string(50, '\0'));
  refused(head + R"(,"of":5,"values":{}})");                                // other axes
  refused(head + R"(,"of":4,"values":{}},"scenario":{"hash":"other","s)");  // another scenario
  refused(line(0) + "a note without newline");
  refused(line(0) + "a note\n" + line(1));
  for (const std::string& torn : {head, head + R"(,"of":4,"val)", line(1).substr(0, 200)}) {
    CAPTURE(torn);
    file.write(torn);
    CHECK(SweepJournal::resume(file.path(), {"h", 4}));
    CHECK(file.text().empty());
  }
}

TEST_CASE("two lines of a point that differ are both computed again") {
  const JournalFile file;
  std::string other = line(0);
  other.replace(other.find("\"m\""), 3, "\"n\"");
  file.write(line(0) + line(1) + other);
  auto journal = SweepJournal::resume(file.path(), {"h", 4});
  REQUIRE_MESSAGE(journal, journal.error());
  CHECK(!journal->has(0));
  CHECK(file.text() == line(1));
  REQUIRE(journal->warnings().size() == 1);
  CHECK(journal->warnings().front().contains("points.jsonl:3: "));
}

TEST_CASE("a journal is one program's, until it is gone") {
  const JournalFile file;
  file.write(line(0));
  {
    const auto first = SweepJournal::resume(file.path(), {"h", 4});
    REQUIRE(first);
    const auto second = SweepJournal::resume(file.path(), {"h", 4});
    REQUIRE_FALSE(second.has_value());
    CHECK(second.error().contains("another program is writing '" + file.path()));
    CHECK(!SweepJournal::create(file.path()));
    CHECK(file.text() == line(0));
  }
  CHECK(SweepJournal::resume(file.path(), {"h", 4}));
}

TEST_CASE("under a name that is made from another, a file that is there is left alone") {
  const JournalFile file;
  constexpr auto only_if_empty = SweepJournal::Existing::only_if_empty;
  file.write("mine");
  CHECK(!SweepJournal::create(file.path(), only_if_empty));
  CHECK(file.text() == "mine");
  file.write("");
  CHECK(SweepJournal::create(file.path(), only_if_empty));
  file.write("mine");
  CHECK(SweepJournal::create(file.path()));
  CHECK(file.text().empty());
}

TEST_CASE("a line longer than any point is not taken into memory") {
  const JournalFile file;
  const std::string huge = line(0) + std::string(scenario::max_row_bytes + 1, 'x');
  file.write(huge);
  const auto resumed = SweepJournal::resume(file.path(), {"h", 4});
  REQUIRE_FALSE(resumed.has_value());
  CHECK(resumed.error().find("a line of more than 16 MiB") != std::string::npos);
  CHECK(file.text() == huge);
}

}  // namespace
}  // namespace shardsim::cli
