// What a learner has answered so far, and what follows from it. The same in every language.
#pragma once

#include <expected>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "quiz/bank/question_bank.hpp"

namespace shardsim::quiz {

/// Levels of confidence, 1 to 4, and the chance of being right that each states.
inline constexpr int sure_levels = 4;
/// In percent.
int stated_chance(int sure);

struct Answer {
  std::string question;
  std::string option;
  int sure = 1;
  bool operator==(const Answer&) const = default;
};

struct Progress {
  std::vector<Answer> answers;  ///< in the order in which they were given

  const Answer* find(const std::string& question) const;
};

/// {"schema": "shardsim.quiz-progress/1", "answers": [{"question", "option", "sure"}]}
std::string to_json(const Progress& progress);
/// Answers to questions and options that the bank does not have (any more) are passed over; text
/// that is no progress at all gives nothing.
std::optional<Progress> read_progress(const std::string& text, const QuestionBank& bank);

/// Where progress lies on this device.
class ProgressFile {
 public:
  explicit ProgressFile(std::filesystem::path file) : file_(std::move(file)) {}

  struct Loaded {
    Progress progress;
    /// Set if there was a file that could not be read: where it was put.
    std::optional<std::filesystem::path> set_aside;
  };
  /// Empty progress if there is no file.
  Loaded load(const QuestionBank& bank) const;
  /// Creates folders as needed and replaces the file whole. The error is a message.
  std::expected<void, std::string> save(const Progress& progress) const;

 private:
  std::filesystem::path file_;
};

struct Calibration {
  int given = 0;
  int right = 0;
};
struct Score {
  int answered = 0;
  int right = 0;
  Calibration by_sure[sure_levels];
  double stated = 0;                ///< mean of the stated chances, percent
  double achieved = 0;              ///< share of right answers, percent
  std::vector<std::string> wrong;   ///< questions
  std::vector<std::string> unsure;  ///< right, at a confidence of 1 or 2
};
Score score(const Progress& progress, const QuestionBank& bank);

}  // namespace shardsim::quiz
