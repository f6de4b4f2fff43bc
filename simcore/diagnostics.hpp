// Messages about bad input: collected, never thrown, all of them and not only the first.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim::simcore {

/// The text a location points into, kept so that a message can show its line.
struct SourceText {
  std::string name;  ///< File name as the user gave it, or "--set".
  std::string text;
};

/// Line and column count from 1; columns count characters (code points), not bytes. Line 0 means
/// the whole source.
struct SourceLocation {
  std::shared_ptr<const SourceText> source;
  int line = 0;
  int column = 0;
};

enum class Severity { error, warning };

struct Diagnostic {
  Severity severity = Severity::error;
  SourceLocation where;
  std::string message;     ///< What is wrong and what was expected.
  std::string suggestion;  ///< Nearest valid spelling, or empty.
};

/// Collector. Bounded: after 100 errors, or 100 warnings, further ones are counted, not stored.
class Diagnostics {
 public:
  void error(const SourceLocation& where, std::string message, std::string suggestion = {});
  void warning(const SourceLocation& where, std::string message, std::string suggestion = {});
  bool has_errors() const { return error_count_ > 0; }
  std::size_t error_count() const { return error_count_; }
  const std::vector<Diagnostic>& all() const { return all_; }

 private:
  std::vector<Diagnostic> all_;
  std::size_t error_count_ = 0;
  std::size_t warning_count_ = 0;
};

/// "file:line:column: error: message", the source line, a caret under the column, and
/// "did you mean 'x'?" where there is a suggestion. Ends with a newline.
///
/// Where a message has no place, `speaker` says whose it is: "shardsim run: message", or
/// "shardsim run: warning: message".
std::string to_text(const Diagnostic& diagnostic, std::string_view speaker = {});
std::string to_text(const Diagnostics& diagnostics, std::string_view speaker = {});

/// `text` in single quotes, shortened if long: for messages.
std::string quote(std::string_view text);

/// Closest of `candidates` to `word` by edit distance (a swap of neighbours counts 1, case nothing
/// unless it decides a tie), or empty if none is close (at most a third of the word's length, at
/// least 1).
std::string nearest_spelling(std::string_view word, const std::vector<std::string>& candidates);

/// For names made of parts, `fsdp2-llama-2-7b-4xdgx-h100`: the nearest spelling or, where none is
/// near, the shortest candidate that contains the word, or the longest that the word contains (case
/// counts nothing; what is shorter than four characters is in too many names).
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

/// The end of a message: "; did you mean 'x'?", or nothing where nothing is near.
std::string did_you_mean(std::string_view near);

}  // namespace shardsim::simcore
