#include "tests/structure/source_text.hpp"

#include <cctype>

namespace shardsim::structure {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<SourceLine> scan() {
    lines_.emplace_back();
    while (position_ < text_.size()) scan_token();
    return std::move(lines_);
  }

 private:
  enum class Kind { code, literal, comment };

  bool at(std::string_view expected) const {
    return text_.substr(position_, expected.size()) == expected;
  }
  char previous() const { return position_ == 0 ? '\n' : text_[position_ - 1]; }

  void take(Kind kind) {
    const char c = text_[position_++];
    if (c == '\n') {
      lines_.emplace_back();
      return;
    }
    lines_.back().without_comments += kind == Kind::comment ? ' ' : c;
    lines_.back().code += kind == Kind::code ? c : ' ';
  }
  void take_to(std::size_t end, Kind kind) {
    while (position_ < text_.size() && position_ < end) take(kind);
  }
  std::size_t after(std::string_view terminator, std::size_t from) const {
    const std::size_t found = text_.find(terminator, from);
    return found == std::string_view::npos ? text_.size() : found + terminator.size();
  }

  void scan_token() {
    if (at("//")) {
      const std::size_t end = text_.find('\n', position_);
      take_to(end == std::string_view::npos ? text_.size() : end, Kind::comment);
    } else if (at("/*")) {
      take_to(after("*/", position_ + 2), Kind::comment);
    } else if (at("R\"") && !is_word(previous())) {
      scan_raw_string();
    } else if (at("\"")) {
      scan_quoted('"');
    } else if (at("'") && !is_word(previous())) {  // not the separator in 1'000
      scan_quoted('\'');
    } else {
      take(Kind::code);
    }
  }

  void scan_raw_string() {
    const std::size_t open = text_.find('(', position_);
    if (open == std::string_view::npos) return take(Kind::code);
    const std::string_view delimiter = text_.substr(position_ + 2, open - position_ - 2);
    take_to(after(")" + std::string(delimiter) + "\"", open), Kind::literal);
  }

  void scan_quoted(char quote) {
    take(Kind::literal);
    while (position_ < text_.size() && text_[position_] != quote && text_[position_] != '\n') {
      if (text_[position_] == '\\' && position_ + 1 < text_.size()) take(Kind::literal);
      take(Kind::literal);
    }
    if (position_ < text_.size() && text_[position_] == quote) take(Kind::literal);
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::vector<SourceLine> lines_;
};

}  // namespace

std::vector<SourceLine> source_lines(std::string_view text) { return Scanner(text).scan(); }

}  // namespace shardsim::structure
