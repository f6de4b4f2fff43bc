// Typed attributes of an XML element; what is wrong with one goes to diagnostics.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "models/nccl/xml_tree.hpp"

namespace shardsim::nccl {

class XmlFields {
 public:
  XmlFields(const XmlElement& element, simcore::Diagnostics& diagnostics)
      : element_(element), diagnostics_(diagnostics) {}

  bool has(std::string_view name) const { return element_.attribute(name) != nullptr; }
  /// The text, empty where the attribute is absent and not required.
  std::string text(std::string_view name) const;
  std::string required_text(std::string_view name) const;
  /// A whole number in [least, most], decimal or, with "0x", hexadecimal.
  std::int64_t integer(std::string_view name, std::int64_t fallback, std::int64_t least,
                       std::int64_t most) const;
  std::int64_t required_integer(std::string_view name, std::int64_t least, std::int64_t most) const;
  /// Hexadecimal, with or without "0x"; nothing where the attribute is absent.
  std::optional<std::uint64_t> hexadecimal(std::string_view name) const;
  double number(std::string_view name, double fallback, double least, double most) const;

 private:
  void bad(std::string_view name, std::string_view expected) const;
  const std::string* require(std::string_view name) const;

  const XmlElement& element_;
  simcore::Diagnostics& diagnostics_;
};

}  // namespace shardsim::nccl
