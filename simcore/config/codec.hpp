// How a value of each type is read, printed and described. One small table of functions a type;
// the work is in scalar_values.cpp and field_list.cpp.
//
// Supported: bool, integers, double, std::string, SimTime, Bytes, BitRate, FlopRate, Fraction,
// enums with EnumNames, structs with describe(), std::optional, std::vector,
// std::map<std::string, M>, and whatever specialises Codec.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "simcore/config/read_context.hpp"
#include "simcore/config/scalar_values.hpp"

namespace shardsim::simcore {

template <class E>
using EnumName = std::pair<std::string_view, E>;

/// Spelling of an enum's values in YAML; specialise with
///   static constexpr auto values = std::to_array<EnumName<E>>({{"one", E::one}, {"two", E::two}});
template <class E>
struct EnumNames;

/// Reading and printing of a type of your own, a union say. Specialise with
///   static std::optional<T> read(const ConfigNode& node, ReadContext& context);
///   static std::string print(const T& value);   // YAML flow text that reads back as the same
///   static TypeSchema schema();                 // e.g. choice_of({schema_of<bool>(), ...})
/// `read` reports through `context.error` or `context.expected` and then returns nothing;
/// `read_value<M>(node, context)` reads the alternatives.
template <class T>
struct Codec;

template <class T>
class Fields;

template <class M>
concept CustomCodec = requires(const ConfigNode& node, ReadContext& context) {
  { Codec<M>::read(node, context) } -> std::same_as<std::optional<M>>;
};
template <class M>
concept NamedEnum = std::is_enum_v<M> && requires { EnumNames<M>::values.size(); };
template <class M>
concept Described = requires(Fields<M>& fields) { M::describe(fields); };
template <class M>
concept Integer = std::integral<M> && !std::same_as<M, bool> && !std::same_as<M, char>;
template <class M>
concept BuiltInScalar =
    std::same_as<M, bool> || std::same_as<M, double> || std::same_as<M, std::string> ||
    std::same_as<M, SimTime> || std::same_as<M, Bytes> || std::same_as<M, BitRate> ||
    std::same_as<M, FlopRate> || std::same_as<M, Fraction>;

/// The functions of one type, with the type erased.
struct ValueOps {
  bool (*read)(const ConfigNode& node, void* target, ReadContext& context);
  std::string (*print)(const void* value);     ///< empty text: nothing to print (an empty optional)
  TypeSchema (*schema)(const void* defaults);  ///< `defaults` may be null
};

// Shared by the containers; defined in field_list.cpp.
bool begin_list(const ConfigNode& node, ReadContext& context);
bool begin_dictionary(const ConfigNode& node, ReadContext& context);
void append_printed(std::string& text, std::string_view key, const std::string& value);
TypeSchema list_schema(TypeSchema (*element)());
TypeSchema dictionary_schema(TypeSchema (*element)());
/// One of several forms.
TypeSchema choice_of(std::vector<TypeSchema> alternatives);

template <class M>
struct ValueType;  // static read, print, schema; see the specialisations

template <class M>
inline constexpr ValueOps value_ops{
    [](const ConfigNode& node, void* target, ReadContext& context) {
      return ValueType<M>::read(node, *static_cast<M*>(target), context);
    },
    [](const void* value) { return ValueType<M>::print(*static_cast<const M*>(value)); },
    [](const void* defaults) { return ValueType<M>::schema(static_cast<const M*>(defaults)); }};

/// Reads one value of any supported type; nothing if it is wrong, which has been reported then.
template <class M>
std::optional<M> read_value(const ConfigNode& node, ReadContext& context) {
  M value{};
  if (!ValueType<M>::read(node, value, context)) return std::nullopt;
  return value;
}

/// YAML flow text that reads back as the same value.
template <class M>
std::string print_value(const M& value) {
  return ValueType<M>::print(value);
}

template <class M>
TypeSchema schema_of() {
  return ValueType<M>::schema(nullptr);
}

template <BuiltInScalar M>
struct ValueType<M> {
  static bool read(const ConfigNode& node, M& value, ReadContext& context) {
    return read_scalar(node, value, context);
  }
  static std::string print(const M& value) { return print_scalar(value); }
  static TypeSchema schema(const M*) { return scalar_schema(static_cast<const M*>(nullptr)); }
};

template <Integer M>
struct ValueType<M> {
  static bool read(const ConfigNode& node, M& value, ReadContext& context) {
    using Limits = std::numeric_limits<M>;
    constexpr auto high = static_cast<std::int64_t>(
        std::min<std::uint64_t>(static_cast<std::uint64_t>(Limits::max()), INT64_MAX));
    std::int64_t wide = 0;
    if (!read_integer(node, static_cast<std::int64_t>(Limits::min()), high, wide, context)) {
      return false;
    }
    value = static_cast<M>(wide);
    return true;
  }
  static std::string print(const M& value) {
    return print_scalar(static_cast<std::int64_t>(value));
  }
  static TypeSchema schema(const M*) {
    return scalar_schema(static_cast<const std::int64_t*>(nullptr));
  }
};

template <NamedEnum M>
struct ValueType<M> {
  static constexpr auto names = [] {
    std::array<std::string_view, EnumNames<M>::values.size()> spelling{};
    for (std::size_t i = 0; i < spelling.size(); ++i) spelling[i] = EnumNames<M>::values[i].first;
    return spelling;
  }();
  static bool read(const ConfigNode& node, M& value, ReadContext& context) {
    std::size_t index = 0;
    if (!read_name(node, names, index, context)) return false;
    value = EnumNames<M>::values[index].second;
    return true;
  }
  static std::string print(const M& value) {
    for (const auto& [name, candidate] : EnumNames<M>::values) {
      if (candidate == value) return print_scalar(std::string(name));
    }
    return {};
  }
  static TypeSchema schema(const M*) { return enum_schema(names); }
};

template <CustomCodec M>
struct ValueType<M> {
  static bool read(const ConfigNode& node, M& value, ReadContext& context) {
    if (node.kind() == NodeKind::invalid) return false;
    std::optional<M> read = Codec<M>::read(node, context);
    if (!read) return false;
    value = std::move(*read);
    return true;
  }
  static std::string print(const M& value) { return Codec<M>::print(value); }
  static TypeSchema schema(const M*) { return Codec<M>::schema(); }
};

template <class M>
struct ValueType<std::optional<M>> {
  static bool read(const ConfigNode& node, std::optional<M>& value, ReadContext& context) {
    if (!value) {
      value = read_value<M>(node, context);
      return value.has_value();
    }
    return ValueType<M>::read(node, *value, context);
  }
  static std::string print(const std::optional<M>& value) {
    return value ? ValueType<M>::print(*value) : std::string();
  }
  static TypeSchema schema(const std::optional<M>* defaults) {
    return ValueType<M>::schema(defaults && *defaults ? &**defaults : nullptr);
  }
};

template <class M>
struct ValueType<std::vector<M>> {
  static bool read(const ConfigNode& node, std::vector<M>& value, ReadContext& context) {
    value.clear();
    if (!begin_list(node, context)) return false;
    const ReadContext::Limits of_elements(context, context.bounds(), nullptr);
    bool good = true;
    for (std::size_t i = 0; i < node.items().size(); ++i) {
      const ReadContext::Step step(context, i);
      M element{};
      good &= ValueType<M>::read(node.items()[i], element, context);
      value.push_back(std::move(element));
    }
    return good;
  }
  static std::string print(const std::vector<M>& value) {
    std::string text = "[";
    for (const M& element : value) append_printed(text, {}, ValueType<M>::print(element));
    return text + "]";
  }
  static TypeSchema schema(const std::vector<M>*) { return list_schema(&schema_of<M>); }
};

template <class M>
struct ValueType<std::map<std::string, M>> {
  using Map = std::map<std::string, M>;
  static bool read(const ConfigNode& node, Map& value, ReadContext& context) {
    value.clear();
    if (!begin_dictionary(node, context)) return false;
    const ReadContext::Limits of_elements(context, context.bounds(), nullptr);
    bool good = true;
    for (const ConfigEntry& entry : node.entries()) {
      const ReadContext::Step step(context, entry.key);
      good &= ValueType<M>::read(entry.value, value[entry.key], context);
    }
    return good;
  }
  static std::string print(const Map& value) {
    std::string text = "{";
    for (const auto& [key, element] : value) {
      append_printed(text, key, ValueType<M>::print(element));
    }
    return text + "}";
  }
  static TypeSchema schema(const Map*) { return dictionary_schema(&schema_of<M>); }
};

}  // namespace shardsim::simcore
