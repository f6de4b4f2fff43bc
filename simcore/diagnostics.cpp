#include "simcore/diagnostics.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "simcore/utf8.hpp"

namespace shardsim::simcore {

namespace {

constexpr std::size_t max_stored = 100;
constexpr std::size_t max_warnings = 100;
constexpr std::size_t shown_characters = 100;  // of a source line
constexpr std::size_t quoted_characters = 60;
constexpr std::size_t tab_width = 4;

/// A line as it is shown, one element a column, and which of them the caret stands under.
struct ShownLine {
  std::vector<std::string> columns;
  std::size_t caret = 0;
};

std::string_view line_of(std::string_view text, int line) {
  std::size_t start = 0;
  for (int i = 1; i < line; ++i) {
    start = text.find('\n', start);
    if (start == std::string_view::npos) return {};
    ++start;
  }
  std::string_view found = text.substr(start, text.find('\n', start) - start);
  if (found.ends_with('\r')) found.remove_suffix(1);
  return found;
}

/// Tabs become spaces, what cannot be shown a replacement character.
ShownLine lay_out(std::string_view line, int column) {
  ShownLine shown;
  std::size_t at = 0;
  // A single huge line is not laid out to its end: what is far right of the caret is cut anyway.
  const auto enough = static_cast<std::size_t>(column) + 2 * shown_characters;
  for (std::size_t character = 1; at < line.size() && character < enough; ++character) {
    if (character == static_cast<std::size_t>(column)) shown.caret = shown.columns.size();
    const Utf8Character next = next_utf8(line, at);
    if (line[at] == '\t') {
      do shown.columns.emplace_back(" ");
      while (shown.columns.size() % tab_width != 0);
    } else {
      shown.columns.emplace_back(next.printable() ? line.substr(at, next.length)
                                                  : replacement_character);
    }
    at += next.length;
    if (at >= line.size() && character < static_cast<std::size_t>(column)) {
      shown.caret = shown.columns.size();  // just past the end
    }
  }
  return shown;
}

/// Cuts a long line to a window around the caret, "..." marking the cut.
void trim_around_caret(ShownLine& shown) {
  if (shown.columns.size() <= shown_characters) return;
  const std::size_t before = shown_characters * 2 / 3;
  std::size_t first = shown.caret > before ? shown.caret - before : 0;
  first = std::min(first, shown.columns.size() - shown_characters);
  const bool cut_end = first + shown_characters < shown.columns.size();
  shown.columns.assign(
      shown.columns.begin() + static_cast<std::ptrdiff_t>(first),
      shown.columns.begin() + static_cast<std::ptrdiff_t>(first + shown_characters));
  shown.caret -= first;
  if (first > 0) {
    shown.columns.insert(shown.columns.begin(), "...");
    shown.caret += 3;
  }
  if (cut_end) shown.columns.emplace_back("...");
}

std::string question(std::string_view near) {
  return fmt::format("did you mean '{}'?", printable(near));
}

std::string source_line(const SourceLocation& where, const std::string& suggestion) {
  ShownLine shown = lay_out(line_of(where.source->text, where.line), where.column);
  trim_around_caret(shown);
  const std::string number = std::to_string(where.line);
  std::string text = fmt::format("{:>5} | {}\n", number, fmt::join(shown.columns, ""));
  text += fmt::format("{:>{}} | {:>{}}", "", std::max<std::size_t>(5, number.size()), "^",
                      shown.caret + 1);
  if (!suggestion.empty()) text += " " + question(suggestion);
  return text + "\n";
}

std::string lower(std::string_view text) {
  std::string folded(text);
  for (char& c : folded) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return folded;
}

/// Edit distance where a swap of neighbours counts as one change (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({change, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

void Diagnostics::error(const SourceLocation& where, std::string message, std::string suggestion) {
  if (++error_count_ > max_stored) return;
  all_.push_back({Severity::error, where, std::move(message), std::move(suggestion)});
}

void Diagnostics::warning(const SourceLocation& where, std::string message,
                          std::string suggestion) {
  if (++warning_count_ > max_warnings) return;
  all_.push_back({Severity::warning, where, std::move(message), std::move(suggestion)});
}

std::string to_text(const Diagnostic& diagnostic, std::string_view speaker) {
  const SourceLocation& where = diagnostic.where;
  std::string text;
  if (where.source) text += printable(where.source->name) + ":";
  if (where.source && where.line > 0) text += fmt::format("{}:{}:", where.line, where.column);
  const bool spoken = text.empty() && !speaker.empty();
  if (spoken) text = fmt::format("{}:", speaker);
  if (!text.empty()) text += ' ';
  if (diagnostic.severity == Severity::warning) {
    text += "warning: ";
  } else if (!spoken) {
    text += "error: ";
  }
  text += printable(diagnostic.message);
  const bool show_line = where.source && where.line > 0 && where.column > 0;
  if (!show_line) text += did_you_mean(diagnostic.suggestion);
  text += '\n';
  if (show_line) text += source_line(where, diagnostic.suggestion);
  return text;
}

std::string to_text(const Diagnostics& diagnostics, std::string_view speaker) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics.all()) text += to_text(diagnostic, speaker);
  if (diagnostics.error_count() > max_stored) {
    text += fmt::format("... and {} more errors\n", diagnostics.error_count() - max_stored);
  }
  return text;
}

std::string quote(std::string_view text) {
  std::string shown;
  std::size_t at = 0;
  for (std::size_t count = 0; at < text.size() && count < quoted_characters; ++count) {
    const Utf8Character next = next_utf8(text, at);
    shown += next.printable() ? text.substr(at, next.length) : replacement_character;
    at += next.length;
  }
  return at < text.size() ? "'" + shown + "...'" : "'" + shown + "'";
}

std::string nearest_spelling(std::string_view word, const std::vector<std::string>& candidates) {
  const std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
  const std::string folded = lower(word);
  std::string best;
  std::pair<std::size_t, std::size_t> best_distance{limit + 1, 0};
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(word.size(), candidate.size());
    if (candidate.empty() || longer - std::min(word.size(), candidate.size()) > limit) continue;
    const std::pair distance{edit_distance(folded, lower(candidate)),
                             edit_distance(word, candidate)};
    if (distance.first <= limit && distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates) {
  if (std::string near = nearest_spelling(word, candidates); !near.empty()) return near;
  constexpr std::size_t telling = 4;
  const std::string folded = lower(word);
  std::string longer;   // candidates that contain the word
  std::string shorter;  // candidates that the word contains
  for (const std::string& candidate : candidates) {
    const std::string name = lower(candidate);
    if (folded.size() >= telling && name.contains(folded)) {
      if (longer.empty() || candidate.size() < longer.size()) longer = candidate;
    } else if (name.size() >= telling && folded.contains(name)) {
      if (candidate.size() > shorter.size()) shorter = candidate;
    }
  }
  return longer.empty() ? shorter : longer;
}

std::string did_you_mean(std::string_view near) {
  return near.empty() ? std::string() : "; " + question(near);
}

}  // namespace shardsim::simcore
