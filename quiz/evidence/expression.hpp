// The language of claims: arithmetic and comparisons over what runs measured.
//
//   claim      = conjunction { "or" conjunction }
//   conjunction= negation { "and" negation }
//   negation   = "not" negation | comparison
//   comparison = sum [ ("<" | "<=" | ">" | ">=" | "==" | "!=") sum | "~" sum "within" NUMBER "%" ]
//   sum        = product { ("+" | "-") product }
//   product    = factor { ("*" | "/") factor }
//   factor     = NUMBER [ "B" | "KiB" | "MiB" | "GiB" | "s" | "ms" | "us" ] | RUN "." FACT
//              | "-" factor | "(" claim ")"
//
// `a ~ b within 5 %`: the two differ by at most 5 % of the larger. Every number carries its
// dimension: bytes and seconds are neither added nor compared, and a bare number is neither. All
// operands are always evaluated, so that a verdict can show every number it rests on.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "quiz/evidence/quantity.hpp"

namespace shardsim::quiz {

/// The truth of a claim, or a number.
using Value = std::variant<bool, Quantity>;

struct ExpressionError {
  std::size_t offset = 0;  ///< bytes into the text
  std::string message;
};

class Expression {
 public:
  static std::expected<Expression, ExpressionError> parse(std::string_view text);

  /// The error says which fact is missing or which dimensions do not go together.
  std::expected<Value, std::string> evaluate(const RunFacts& facts) const;
  /// The facts it uses, "run.fact", in the order of the text, each once.
  const std::vector<std::string>& names() const { return names_; }
  const std::string& text() const { return text_; }

 private:
  enum class Kind : std::uint8_t {
    number,
    name,
    negative,
    negation,
    multiply,
    divide,
    add,
    subtract,
    less,
    less_equal,
    greater,
    greater_equal,
    equal,
    unequal,
    near,
    conjunction,
    disjunction,
  };
  struct Node {
    Kind kind = Kind::number;
    Quantity number;       ///< of `number`; of `near` its value is the tolerance
    std::size_t name = 0;  ///< index into names_
    int left = -1;
    int right = -1;
  };
  friend class ExpressionParser;

  std::expected<Value, std::string> evaluate(int index, const RunFacts& facts) const;
  std::expected<Value, std::string> combine(const Node& node, const Value& left,
                                            const Value& right) const;
  static std::expected<Value, std::string> combine_numbers(const Node& node, const Quantity& left,
                                                           const Quantity& right);

  std::string text_;
  std::vector<std::string> names_;
  std::vector<Node> nodes_;
  int root_ = -1;
};

}  // namespace shardsim::quiz
