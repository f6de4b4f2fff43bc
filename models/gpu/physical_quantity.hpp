// Clock rates and power, with their written form: "1830 MHz", "700 W".
#pragma once

#include <compare>
#include <optional>
#include <string>

#include "simcore/config/codec.hpp"

namespace shardsim::gpu {

struct Frequency {
  double hertz = 0;
  constexpr auto operator<=>(const Frequency&) const = default;
};

struct Power {
  double watts = 0;
  constexpr auto operator<=>(const Power&) const = default;
};

}  // namespace shardsim::gpu

template <>
struct shardsim::simcore::Codec<shardsim::gpu::Frequency> {
  static std::optional<gpu::Frequency> read(const ConfigNode& node, ReadContext& context);
  static std::string print(const gpu::Frequency& value);
  static TypeSchema schema();
};

template <>
struct shardsim::simcore::Codec<shardsim::gpu::Power> {
  static std::optional<gpu::Power> read(const ConfigNode& node, ReadContext& context);
  static std::string print(const gpu::Power& value);
  static TypeSchema schema();
};
