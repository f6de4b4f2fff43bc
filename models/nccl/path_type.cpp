#include "models/nccl/path_type.hpp"

#include <array>
#include <cstddef>

namespace shardsim::nccl {
namespace {

constexpr std::array<std::string_view, 12> names = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                                    "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};

}  // namespace

std::string_view path_type_name(PathType type) { return names[static_cast<std::size_t>(type)]; }

std::optional<PathType> path_type_named(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<PathType>(i);
  }
  return std::nullopt;
}

}  // namespace shardsim::nccl
