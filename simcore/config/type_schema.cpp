#include "simcore/config/type_schema.hpp"

#include <fmt/format.h>

namespace shardsim::simcore {

namespace {

template <class Value>
bool allows(const Bounds& bounds, Value value, Value Bound::* member) {
  if (bounds.lower) {
    const Value low = (*bounds.lower).*member;
    if (!(value > low || (value == low && !bounds.lower->exclusive))) return false;
  }
  if (bounds.upper) {
    const Value high = (*bounds.upper).*member;
    if (!(value < high || (value == high && !bounds.upper->exclusive))) return false;
  }
  return true;
}

std::string joined_names(const std::vector<TypeSchema>& types) {
  std::string text;
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (i > 0) text += i + 1 == types.size() ? " or " : ", ";
    text += type_name(types[i]);
  }
  return text;
}

/// The element of a list: "of integers", "with each one of ...".
std::string each_name(const TypeSchema& element) {
  const bool plain_noun = element.kind != TypeKind::choice && element.kind != TypeKind::list &&
                          element.kind != TypeKind::enumeration &&
                          element.kind != TypeKind::dictionary && element.kind != TypeKind::boolean;
  const std::string name = type_name(element);
  if (!plain_noun) return "with each one " + name;
  return "of " + name + (name.ends_with('s') ? "" : "s");
}

}  // namespace

bool Bounds::allow(std::int64_t value) const { return allows(*this, value, &Bound::integer); }
bool Bounds::allow(double value) const { return allows(*this, value, &Bound::real); }

std::string Bounds::describe() const {
  if (lower && upper && !lower->exclusive && !upper->exclusive) {
    if (lower->text == upper->text) return lower->text;
    return fmt::format("between {} and {}", lower->text, upper->text);
  }
  std::string text;
  if (lower) text = (lower->exclusive ? "above " : "at least ") + lower->text;
  if (lower && upper) text += " and ";
  if (upper) text += (upper->exclusive ? "below " : "at most ") + upper->text;
  return text;
}

std::string describe_count(const Bounds& count) {
  const std::string text = count.describe();
  return text + (text == "1" || text.ends_with(" 1") ? " element" : " elements");
}

std::string type_name(const TypeSchema& type) {
  switch (type.kind) {
    case TypeKind::list:
      return "list " + each_name(type.element());
    case TypeKind::dictionary:
      return "map of names to " + type_name(type.element());
    case TypeKind::choice:
      return type.name.empty() ? joined_names(type.alternatives) : type.name;
    case TypeKind::enumeration:
      return fmt::format("`{}`", fmt::join(type.values, "`, `"));
    default:
      return type.name;
  }
}

}  // namespace shardsim::simcore
