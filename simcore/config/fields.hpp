// One declaration per parameter. From it come the YAML reader, `--set`, the JSON schema, the
// reference page and the printed form.
//
//   struct ClusterSpec {
//     std::string topology;
//     std::int64_t nodes = 1;          // the default-constructed value is the default
//     static void describe(simcore::Fields<ClusterSpec>& fields) {
//       fields.required("topology", &ClusterSpec::topology, "A name, or the path of a file.");
//       fields.optional("nodes", &ClusterSpec::nodes, "Number of nodes.").range(1, 1'000'000);
//     }
//     // Optional; called once every field has been read without error:
//     static void check(const ClusterSpec&, const simcore::ConfigNode&, simcore::Diagnostics&);
//     simcore::SourceLocation where;   // optional: is set to the place in the file
//   };
//
// A field is optional or required in YAML; std::optional says besides that it may be absent in the
// specification. A nested struct that is optional keeps the defaults of its parent's member.
#pragma once

#include <concepts>
#include <filesystem>
#include <memory>
#include <optional>

#include "simcore/config/codec.hpp"
#include "simcore/config/field_list.hpp"
#include "simcore/config/yaml_reader.hpp"

namespace shardsim::simcore {

/// The type that bounds speak of: that of the value, or of each element.
template <class M>
struct BoundedType {
  using type = M;
};
template <class M>
struct BoundedType<std::optional<M>> : BoundedType<M> {};
template <class M>
struct BoundedType<std::vector<M>> : BoundedType<M> {};
template <class M>
struct BoundedType<std::map<std::string, M>> : BoundedType<M> {};

/// What a declaration may add; use it in the same statement.
template <class M>
class FieldOptions {
 public:
  using Value = typename BoundedType<M>::type;

  explicit FieldOptions(FieldEntry& entry) : entry_(entry) {}

  /// low <= value <= high.
  FieldOptions& range(Value low, Value high) { return at_least(low).at_most(high); }
  FieldOptions& at_least(Value low) { return set(entry_.bounds.lower, low, false); }
  FieldOptions& at_most(Value high) { return set(entry_.bounds.upper, high, false); }
  /// Strictly greater: `above(SimTime{})` refuses zero.
  FieldOptions& above(Value low) { return set(entry_.bounds.lower, low, true); }
  FieldOptions& below(Value high) { return set(entry_.bounds.upper, high, true); }
  /// Number of elements of a list or dictionary.
  FieldOptions& count(std::int64_t low, std::int64_t high) {
    entry_.count.lower = make_bound(low);
    entry_.count.upper = make_bound(high);
    return *this;
  }
  FieldOptions& not_empty() {
    entry_.count.lower = make_bound(std::int64_t{1});
    return *this;
  }
  /// Version in which the key appeared.
  FieldOptions& since(Literal version) {
    entry_.since = version.text;
    return *this;
  }
  /// A value to show in the reference, e.g. of a path or a list.
  FieldOptions& example(Literal value) {
    entry_.example = value.text;
    return *this;
  }

 private:
  FieldOptions& set(std::optional<Bound>& end, const Value& value, bool exclusive) {
    if constexpr (Integer<Value>) {
      end = make_bound(static_cast<std::int64_t>(value));
    } else {
      end = make_bound(value);
    }
    end->exclusive = exclusive;
    return *this;
  }

  FieldEntry& entry_;
};

template <class T>
class Fields {
 public:
  Fields() { T::describe(*this); }

  /// `doc` is a sentence or two in Markdown.
  template <class M, class Owner>
    requires std::derived_from<T, Owner>
  FieldOptions<M> required(Literal key, M Owner::* member, Literal doc) {
    return add(key, member, doc, true);
  }
  template <class M, class Owner>
    requires std::derived_from<T, Owner>
  FieldOptions<M> optional(Literal key, M Owner::* member, Literal doc) {
    return add(key, member, doc, false);
  }

  const FieldList& list() const { return list_; }
  const T& defaults() const { return defaults_; }

 private:
  template <class M, class Owner>
  FieldOptions<M> add(Literal key, M Owner::* member, Literal doc, bool required) {
    const auto* base = reinterpret_cast<const std::byte*>(&defaults_);
    const auto* place = reinterpret_cast<const std::byte*>(&(defaults_.*member));
    return FieldOptions<M>(list_.add({.key = key.text,
                                      .doc = doc.text,
                                      .since = {},
                                      .example = {},
                                      .required = required,
                                      .offset = static_cast<std::size_t>(place - base),
                                      .ops = &value_ops<M>,
                                      .bounds = {},
                                      .count = {}}));
  }

  T defaults_{};
  FieldList list_;
};

/// Knows its place in the file, for messages that come after the reading.
template <class M>
concept Placed = requires(M value) {
  { value.where } -> std::same_as<SourceLocation&>;
};

template <Described M>
struct ValueType<M> {
  static bool read(const ConfigNode& node, M& value, ReadContext& context) {
    const Fields<M> fields;
    if constexpr (Placed<M>) value.where = node.where();
    if (!fields.list().read(node, reinterpret_cast<std::byte*>(&value), context)) return false;
    if constexpr (requires { M::check(value, node, context.diagnostics()); }) {
      const std::size_t errors = context.diagnostics().error_count();
      M::check(value, node, context.diagnostics());
      return context.diagnostics().error_count() == errors;
    }
    return true;
  }
  static std::string print(const M& value) {
    return Fields<M>().list().print(reinterpret_cast<const std::byte*>(&value));
  }
  static TypeSchema schema(const M* defaults) {
    const Fields<M> fields;
    const M* shown = defaults ? defaults : &fields.defaults();
    return fields.list().schema(reinterpret_cast<const std::byte*>(shown));
  }
};

/// Reads a value from a tree. Errors go to `diagnostics`; a field in error keeps its default.
template <class T>
T read_config(const ConfigNode& node, Diagnostics& diagnostics) {
  ReadContext context(diagnostics, &schema_of<T>);
  T value{};
  ValueType<T>::read(node, value, context);
  return value;
}

/// Reads a file; nothing if anything in it is wrong.
template <class T>
std::optional<T> read_config_file(const std::filesystem::path& path, Diagnostics& diagnostics) {
  const std::size_t errors = diagnostics.error_count();
  const std::optional<ConfigNode> root = read_yaml_file(path, diagnostics);
  if (!root) return std::nullopt;
  T value = read_config<T>(*root, diagnostics);
  if (diagnostics.error_count() != errors) return std::nullopt;
  return value;
}

}  // namespace shardsim::simcore
