#include "quiz/evidence/expression.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace shardsim::quiz {

namespace {

std::string describe(const Dimension& dimension) {
  if (dimension == no_dimension) return "a bare number";
  if (dimension == in_bytes) return "bytes";
  if (dimension == in_seconds) return "seconds";
  return fmt::format("bytes^{} seconds^{}", dimension.bytes, dimension.seconds);
}

}  // namespace

std::expected<Value, std::string> Expression::evaluate(const RunFacts& facts) const {
  return evaluate(root_, facts);
}

std::expected<Value, std::string> Expression::evaluate(int index, const RunFacts& facts) const {
  const Node& node = nodes_[static_cast<std::size_t>(index)];
  if (node.kind == Kind::number) return node.number;
  if (node.kind == Kind::name) {
    const Quantity* fact = find_fact(facts, names_[node.name]);
    if (fact == nullptr) return std::unexpected("there is no '" + names_[node.name] + "'");
    return *fact;
  }
  const auto left = evaluate(node.left, facts);
  if (!left) return left;
  if (node.kind == Kind::negation) {
    const bool* truth = std::get_if<bool>(&*left);
    if (truth == nullptr) return std::unexpected(std::string("'not' needs a comparison"));
    return !*truth;
  }
  if (node.kind == Kind::negative) {
    const Quantity* number = std::get_if<Quantity>(&*left);
    if (number == nullptr) return std::unexpected(std::string("'-' needs a number"));
    return Quantity{-number->value, number->dimension};
  }
  const auto right = evaluate(node.right, facts);
  if (!right) return right;
  return combine(node, *left, *right);
}

std::expected<Value, std::string> Expression::combine(const Node& node, const Value& left,
                                                      const Value& right) const {
  if (node.kind == Kind::conjunction || node.kind == Kind::disjunction) {
    const bool* a = std::get_if<bool>(&left);
    const bool* b = std::get_if<bool>(&right);
    if (a == nullptr || b == nullptr) {
      return std::unexpected(std::string("'and' and 'or' need comparisons on both sides"));
    }
    return node.kind == Kind::conjunction ? *a && *b : *a || *b;
  }
  const Quantity* a = std::get_if<Quantity>(&left);
  const Quantity* b = std::get_if<Quantity>(&right);
  if (a == nullptr || b == nullptr) {
    return std::unexpected(std::string("a comparison stands where a number is needed"));
  }
  return combine_numbers(node, *a, *b);
}

std::expected<Value, std::string> Expression::combine_numbers(const Node& node,
                                                              const Quantity& left,
                                                              const Quantity& right) {
  const Dimension& a = left.dimension;
  const Dimension& b = right.dimension;
  if (node.kind == Kind::multiply) {
    return Quantity{left.value * right.value, {a.bytes + b.bytes, a.seconds + b.seconds}};
  }
  if (node.kind == Kind::divide) {
    if (right.value == 0) return std::unexpected(std::string("division by zero"));
    return Quantity{left.value / right.value, {a.bytes - b.bytes, a.seconds - b.seconds}};
  }
  if (!(a == b)) {
    return std::unexpected(fmt::format("{} and {} do not go together", describe(a), describe(b)));
  }
  switch (node.kind) {
    case Kind::add:
      return Quantity{left.value + right.value, a};
    case Kind::subtract:
      return Quantity{left.value - right.value, a};
    case Kind::less:
      return left.value < right.value;
    case Kind::less_equal:
      return left.value <= right.value;
    case Kind::greater:
      return left.value > right.value;
    case Kind::greater_equal:
      return left.value >= right.value;
    case Kind::equal:
      return left.value == right.value;
    case Kind::unequal:
      return left.value != right.value;
    case Kind::near:
      return std::abs(left.value - right.value) <=
             node.number.value * std::max(std::abs(left.value), std::abs(right.value));
    default:
      return std::unexpected(std::string("not an operation on numbers"));
  }
}

}  // namespace shardsim::quiz
