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
std::string to_text(const Diagnostic& diagnostic);
std::string to_text(const Diagnostics& diagnostics);

/// `text` in single quotes, shortened if long: for messages.
std::string quote(std::string_view text);

/// Closest of `candidates` to `word` by edit distance (a swap of neighbours counts 1, case nothing
/// unless it decides a tie), or empty if none is close (at most a third of the word's length, at
/// least 1).
std::string nearest_spelling(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace shardsim::simcore
