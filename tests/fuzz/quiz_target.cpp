// The question bank: its questions, "=====", the words of its languages in their order.
#include "quiz/bank/question_bank.hpp"
#include "tests/fuzz/memory_files.hpp"
#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

void load_questions(std::string_view input) {
  const auto parts = parts_of(input, 2);
  const std::filesystem::path folder = "/input/bank";
  set_memory_file(folder / "questions.yaml", parts[0]);
  std::size_t part = 1;
  for (const char* language : {"en", "hi", "ms"}) {
    set_memory_file(folder / (std::string(language) + ".yaml"),
                    parts[std::min(part++, parts.size() - 1)]);
  }
  simcore::Diagnostics diagnostics;
  const auto bank = quiz::load_question_bank(folder, diagnostics);
  check_messages(!bank, diagnostics);
}

}  // namespace shardsim::fuzz
