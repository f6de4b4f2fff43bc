// What a declaration says about a value, as plain data: read by the JSON schema and reference
// writers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardsim::simcore {

/// One end of an allowed range. Integers, times (picoseconds) and bytes compare as integers, all
/// else as reals.
struct Bound {
  std::int64_t integer = 0;
  double real = 0;
  std::string text;  ///< as it would be written in YAML
  bool exclusive = false;
};

struct Bounds {
  std::optional<Bound> lower;
  std::optional<Bound> upper;
  bool empty() const { return !lower && !upper; }
  bool allow(std::int64_t value) const;
  bool allow(double value) const;
  /// "at least 1", "between 1 and 8", "above 0 s and at most 3 s"; empty without bounds.
  std::string describe() const;
};

enum class TypeKind : std::uint8_t {
  boolean,
  integer,
  real,
  text,
  quantity,     ///< a number with a unit
  enumeration,  ///< one of `values`
  structure,    ///< a map with `fields`
  list,         ///< of `element`
  dictionary,   ///< a map from any name to `element`
  choice,       ///< one of `alternatives`; anything if none
};

struct FieldSchema;

struct TypeSchema {
  TypeKind kind = TypeKind::text;
  /// For people, e.g. "integer", "bytes"; writers compose lists, choices and enumerations.
  std::string name;
  std::string example;                   ///< quantity
  std::string pattern;                   ///< quantity: ECMA regular expression
  bool bare_number = false;              ///< quantity: a number without unit is allowed too
  std::vector<std::string> values;       ///< enumeration
  std::vector<FieldSchema> fields;       ///< structure
  TypeSchema (*element)() = nullptr;     ///< list, dictionary; a function, so types may recur
  std::vector<TypeSchema> alternatives;  ///< choice
};

struct FieldSchema {
  std::string key;
  std::string doc;
  std::string since;         ///< version that introduced it, or empty
  std::string example;       ///< or empty
  std::string default_text;  ///< as YAML flow text; empty if there is none to show
  bool required = false;
  Bounds bounds;  ///< of the value, or of each element
  Bounds count;   ///< of the number of elements of a list or dictionary
  TypeSchema type;
};

/// "at least 1 element", "between 2 and 4 elements".
std::string describe_count(const Bounds& count);

/// For people: "integer", "`a`, `b` or `c`", "list of bytes".
std::string type_name(const TypeSchema& type);

}  // namespace shardsim::simcore
