#include "models/gpu/physical_quantity.hpp"

#include <array>

#include "simcore/quantity_text.hpp"

namespace shardsim::simcore {
namespace {

constexpr auto frequency_units = std::to_array<QuantityUnit>({
    {.symbol = "Hz"},
    {.symbol = "kHz", .decimal = 3},
    {.symbol = "MHz", .decimal = 6},
    {.symbol = "GHz", .decimal = 9},
});
constexpr QuantityKind frequency_kind{"frequency", "1830 MHz", frequency_units};

constexpr auto power_units = std::to_array<QuantityUnit>({
    {.symbol = "W"},
    {.symbol = "kW", .decimal = 3},
});
constexpr QuantityKind power_kind{"power", "700 W", power_units};

std::optional<double> read_positive(const ConfigNode& node, ReadContext& context,
                                    const QuantityKind& kind) {
  if (!node.is_scalar()) {
    context.expected(node, std::string(kind.name) + " such as " + std::string(kind.example));
    return std::nullopt;
  }
  const auto value = parse_real(node.text(), kind);
  if (!value) {
    context.error(node, value.error());
    return std::nullopt;
  }
  if (*value <= 0) {
    context.expected(node, "a value above 0");
    return std::nullopt;
  }
  return *value;
}

}  // namespace

std::optional<gpu::Frequency> Codec<gpu::Frequency>::read(const ConfigNode& node,
                                                          ReadContext& context) {
  const auto value = read_positive(node, context, frequency_kind);
  return value ? std::optional(gpu::Frequency{*value}) : std::nullopt;
}

std::string Codec<gpu::Frequency>::print(const gpu::Frequency& value) {
  return format_exact(value.hertz, frequency_kind);
}

TypeSchema Codec<gpu::Frequency>::schema() { return quantity_schema(frequency_kind); }

std::optional<gpu::Power> Codec<gpu::Power>::read(const ConfigNode& node, ReadContext& context) {
  const auto value = read_positive(node, context, power_kind);
  return value ? std::optional(gpu::Power{*value}) : std::nullopt;
}

std::string Codec<gpu::Power>::print(const gpu::Power& value) {
  return format_exact(value.watts, power_kind);
}

TypeSchema Codec<gpu::Power>::schema() { return quantity_schema(power_kind); }

}  // namespace shardsim::simcore
