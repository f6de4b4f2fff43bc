// JSON that the program reads back: trees of configuration, work files, the quiz's progress.
#include <nlohmann/json.hpp>

#include "models/scenario/chunk_work_file.hpp"
#include "quiz/bank/question_bank.hpp"
#include "quiz/session/progress.hpp"
#include "simcore/config/json_tree.hpp"
#include "tests/fuzz/memory_files.hpp"
#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

namespace {

const quiz::QuestionBank& bank() {
  static const quiz::QuestionBank made = [] {
    simcore::Diagnostics diagnostics;
    auto read = quiz::load_question_bank(source_folder() / "quiz" / "bank", diagnostics);
    require(read.has_value(), "the shipped questions cannot be read");
    return std::move(*read);
  }();
  return made;
}

}  // namespace

void read_json_texts(std::string_view input) {
  simcore::Diagnostics diagnostics;
  const auto tree = simcore::read_json_tree(source_of(input), diagnostics);
  check_messages(!tree, diagnostics);
  if (tree) require(nlohmann::json::accept(simcore::to_json_tree(*tree)), "a tree that is no JSON");
  const auto progress = quiz::read_progress(std::string(input), bank());
  if (progress) {
    require(nlohmann::json::accept(quiz::to_json(*progress)), "progress that is no JSON");
    quiz::score(*progress, bank());
  }
  constexpr const char* file = "/input/work.json";
  set_memory_file(file, input);
  simcore::Diagnostics problems;
  const auto setup = scenario::read_chunk_work_setup(file, problems);
  check_messages(!setup, problems);
}

}  // namespace shardsim::fuzz
