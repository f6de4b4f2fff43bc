// Recursive descent over the grammar of expression.hpp.
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "quiz/evidence/expression.hpp"

namespace shardsim::quiz {

namespace {

struct Unit {
  std::string_view symbol;
  Quantity worth;
};
constexpr std::array units{Unit{"KiB", {1024, in_bytes}},
                           Unit{"MiB", {1024.0 * 1024, in_bytes}},
                           Unit{"GiB", {1024.0 * 1024 * 1024, in_bytes}},
                           Unit{"B", {1, in_bytes}},
                           Unit{"ms", {1e-3, in_seconds}},
                           Unit{"us", {1e-6, in_seconds}},
                           Unit{"s", {1, in_seconds}}};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr int deepest = 64;

}  // namespace

class ExpressionParser {
 public:
  explicit ExpressionParser(std::string_view text) : text_(text) { made_.text_ = text; }

  std::expected<Expression, ExpressionError> run() {
    made_.root_ = disjunction();
    skip_blanks();
    if (!error_ && at_ < text_.size()) fail("expected the end");
    if (error_) return std::unexpected(*error_);
    return std::move(made_);
  }

 private:
  using Kind = Expression::Kind;
  using Node = Expression::Node;

  int fail(std::string message) {
    if (!error_) error_ = ExpressionError{at_, std::move(message)};
    at_ = text_.size();
    return 0;
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  bool take(std::string_view symbol) {
    skip_blanks();
    if (!text_.substr(at_).starts_with(symbol)) return false;
    const std::size_t end = at_ + symbol.size();
    if (is_letter(symbol.front()) && end < text_.size() &&
        (is_letter(text_[end]) || is_digit(text_[end]) || text_[end] == '.')) {
      return false;
    }
    at_ = end;
    return true;
  }

  int add(const Node& node) {
    made_.nodes_.push_back(node);
    return static_cast<int>(made_.nodes_.size()) - 1;
  }
  int add(Kind kind, int left, int right) {
    return add(Node{.kind = kind, .number = {}, .name = 0, .left = left, .right = right});
  }

  int disjunction() {
    int left = conjunction();
    while (take("or")) {
      const int right = conjunction();
      left = add(Kind::disjunction, left, right);
    }
    return left;
  }

  int conjunction() {
    int left = negation();
    while (take("and")) {
      const int right = negation();
      left = add(Kind::conjunction, left, right);
    }
    return left;
  }

  int negation() {
    if (++depth_ > deepest) return fail("nested too deeply");
    int made = 0;
    if (take("not")) {
      const int operand = negation();
      made = add(Kind::negation, operand, -1);
    } else {
      made = comparison();
    }
    --depth_;
    return made;
  }

  int comparison() {
    const int left = sum();
    constexpr std::array<std::pair<std::string_view, Kind>, 6> signs{{
        {"<=", Kind::less_equal},
        {">=", Kind::greater_equal},
        {"==", Kind::equal},
        {"!=", Kind::unequal},
        {"<", Kind::less},
        {">", Kind::greater},
    }};
    for (const auto& [sign, kind] : signs) {
      if (!take(sign)) continue;
      const int right = sum();
      return add(kind, left, right);
    }
    if (!take("~")) return left;
    const int right = sum();
    if (!take("within")) return fail("expected 'within' and a percentage after '~'");
    const double tolerance = number() / 100;
    if (!take("%")) return fail("expected '%'");
    const int made = add(Kind::near, left, right);
    made_.nodes_[static_cast<std::size_t>(made)].number.value = tolerance;
    return made;
  }

  int sum() {
    int left = product();
    for (;;) {
      const Kind kind = take("+") ? Kind::add : take("-") ? Kind::subtract : Kind::number;
      if (kind == Kind::number) return left;
      const int right = product();
      left = add(kind, left, right);
    }
  }

  int product() {
    int left = factor();
    for (;;) {
      const Kind kind = take("*") ? Kind::multiply : take("/") ? Kind::divide : Kind::number;
      if (kind == Kind::number) return left;
      const int right = factor();
      left = add(kind, left, right);
    }
  }

  int factor() {
    if (++depth_ > deepest) return fail("nested too deeply");
    const int made = unguarded_factor();
    --depth_;
    return made;
  }

  int unguarded_factor() {
    if (take("-")) {
      const int operand = factor();
      return add(Kind::negative, operand, -1);
    }
    if (take("(")) {
      const int inner = disjunction();
      return take(")") ? inner : fail("expected ')'");
    }
    skip_blanks();
    if (at_ < text_.size() && is_digit(text_[at_])) return literal();
    if (at_ < text_.size() && is_letter(text_[at_])) return name();
    return fail("expected a number, run.fact or '('");
  }

  double number() {
    skip_blanks();
    double value = 0;
    const char* const begin = text_.data() + at_;
    const auto [stop, problem] =
        std::from_chars(begin, text_.data() + text_.size(), value, std::chars_format::fixed);
    if (problem != std::errc{}) return fail("expected a number");
    at_ += static_cast<std::size_t>(stop - begin);
    return value;
  }

  int literal() {
    Quantity value{number(), no_dimension};
    for (const Unit& unit : units) {
      if (!take(unit.symbol)) continue;
      value = Quantity{value.value * unit.worth.value, unit.worth.dimension};
      break;
    }
    return add(Node{.kind = Kind::number, .number = value});
  }

  int name() {
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (is_letter(text_[at_]) || is_digit(text_[at_]) || text_[at_] == '.')) {
      ++at_;
    }
    const std::string word(text_.substr(begin, at_ - begin));
    const std::size_t dot = word.find('.');
    if (dot == std::string::npos || dot + 1 == word.size()) {
      at_ = begin;
      return fail("expected run.fact, found '" + word + "'");
    }
    auto& names = made_.names_;
    const auto known = std::find(names.begin(), names.end(), word);
    const auto index = static_cast<std::size_t>(known - names.begin());
    if (known == names.end()) names.push_back(word);
    return add(Node{.kind = Kind::name, .number = {}, .name = index});
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::optional<ExpressionError> error_;
  Expression made_;
};

std::expected<Expression, ExpressionError> Expression::parse(std::string_view text) {
  return ExpressionParser(text).run();
}

}  // namespace shardsim::quiz
