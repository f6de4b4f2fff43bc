// The declared keys of one struct, with the types erased: reading, printing and describing a map.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "simcore/config/codec.hpp"

namespace shardsim::simcore {

/// Text known when compiling, so that a declaration may keep a view of it.
struct Literal {
  std::string_view text;
  consteval Literal(const char* literal) : text(literal) {}
  consteval Literal(std::string_view literal) : text(literal) {}
};

struct FieldEntry {
  std::string_view key;
  std::string_view doc;
  std::string_view since;
  std::string_view example;
  bool required = false;
  std::size_t offset = 0;  ///< of the member within the struct
  const ValueOps* ops = nullptr;
  Bounds bounds;
  Bounds count;
};

class FieldList {
 public:
  FieldEntry& add(FieldEntry entry);
  const std::vector<FieldEntry>& entries() const { return entries_; }

  /// Reads a map into the struct at `object`, whose members hold their defaults. Reports unknown,
  /// missing and wrong keys, all of them.
  bool read(const ConfigNode& node, std::byte* object, ReadContext& context) const;
  std::string print(const std::byte* object) const;
  TypeSchema schema(const std::byte* defaults) const;

 private:
  const FieldEntry* find(std::string_view key) const;
  bool report_unknown(const ConfigEntry& entry, ReadContext& context) const;

  std::vector<FieldEntry> entries_;
};

}  // namespace shardsim::simcore
