#include "quiz/session/progress.hpp"

#include <algorithm>
#include <array>
#include <system_error>

#include <nlohmann/json.hpp>

#include "simcore/json_limits.hpp"
#include "simcore/output/atomic_file.hpp"
#include "simcore/text_file.hpp"

namespace shardsim::quiz {

using Json = nlohmann::ordered_json;

namespace {

constexpr const char* schema = "shardsim.quiz-progress/1";
constexpr std::size_t largest_file = 1 << 20;

bool has_option(const Question& question, const std::string& id) {
  return std::ranges::any_of(question.spec.options,
                             [&id](const OptionSpec& option) { return option.id == id; });
}

/// Nothing if the entry is no answer to this bank.
std::optional<Answer> read_answer(const Json& entry, const QuestionBank& bank) {
  if (!entry.is_object()) return std::nullopt;
  const auto question = entry.find("question");
  const auto option = entry.find("option");
  const auto sure = entry.find("sure");
  if (question == entry.end() || option == entry.end() || sure == entry.end()) return std::nullopt;
  if (!question->is_string() || !option->is_string() || !sure->is_number_integer()) {
    return std::nullopt;
  }
  Answer answer{*question, *option, static_cast<int>(sure->get<std::int64_t>())};
  if (sure->get<std::int64_t>() < 1 || sure->get<std::int64_t>() > sure_levels) return std::nullopt;
  const Question* asked = bank.find(answer.question);
  if (asked == nullptr || !has_option(*asked, answer.option)) return std::nullopt;
  return answer;
}

}  // namespace

int stated_chance(int sure) {
  constexpr std::array<int, sure_levels> percent{25, 50, 75, 95};
  return percent[static_cast<std::size_t>(std::clamp(sure, 1, sure_levels) - 1)];
}

const Answer* Progress::find(const std::string& question) const {
  const auto found = std::ranges::find(answers, question, &Answer::question);
  return found == answers.end() ? nullptr : &*found;
}

std::string to_json(const Progress& progress) {
  Json answers = Json::array();
  for (const Answer& answer : progress.answers) {
    answers.push_back(
        {{"question", answer.question}, {"option", answer.option}, {"sure", answer.sure}});
  }
  return Json{{"schema", schema}, {"answers", std::move(answers)}}.dump(1) + "\n";
}

std::optional<Progress> read_progress(const std::string& text, const QuestionBank& bank) {
  if (simcore::json_too_large(text)) return std::nullopt;
  const Json document = Json::parse(text, nullptr, false);
  if (!document.is_object()) return std::nullopt;
  const auto kind = document.find("schema");
  const auto answers = document.find("answers");
  if (kind == document.end() || *kind != schema) return std::nullopt;
  if (answers == document.end() || !answers->is_array()) return std::nullopt;
  Progress progress;
  for (const Json& entry : *answers) {
    auto answer = read_answer(entry, bank);
    if (answer && progress.find(answer->question) == nullptr) {
      progress.answers.push_back(std::move(*answer));
    }
  }
  return progress;
}

ProgressFile::Loaded ProgressFile::load(const QuestionBank& bank) const {
  Loaded loaded;
  std::error_code failed;
  if (!std::filesystem::exists(file_, failed)) return loaded;
  const auto text = simcore::read_text_file(file_, largest_file);
  std::optional<Progress> progress;
  if (text && text->size() <= largest_file) progress = read_progress(*text, bank);
  if (progress) {
    loaded.progress = std::move(*progress);
    return loaded;
  }
  loaded.set_aside = file_.string() + ".unreadable";
  std::filesystem::rename(file_, *loaded.set_aside, failed);
  return loaded;
}

std::expected<void, std::string> ProgressFile::save(const Progress& progress) const {
  std::error_code failed;
  std::filesystem::create_directories(file_.parent_path(), failed);
  if (failed) return std::unexpected(file_.parent_path().string() + ": " + failed.message());
  auto file = simcore::AtomicFile::create(file_);
  if (!file) return std::unexpected(file.error());
  file->stream() << to_json(progress);
  return file->commit();
}

Score score(const Progress& progress, const QuestionBank& bank) {
  Score made;
  for (const Answer& answer : progress.answers) {
    const Question* question = bank.find(answer.question);
    if (question == nullptr) continue;
    const bool right = question->spec.answer == answer.option;
    Calibration& level = made.by_sure[std::clamp(answer.sure, 1, sure_levels) - 1];
    ++level.given;
    ++made.answered;
    made.stated += stated_chance(answer.sure);
    if (right) {
      ++level.right;
      ++made.right;
      if (answer.sure <= 2) made.unsure.push_back(answer.question);
    } else {
      made.wrong.push_back(answer.question);
    }
  }
  if (made.answered > 0) {
    made.stated /= made.answered;
    made.achieved = 100.0 * made.right / made.answered;
  }
  return made;
}

}  // namespace shardsim::quiz
