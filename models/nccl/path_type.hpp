// How good a way between two devices is, by NCCL's names.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace shardsim::nccl {

/// From best to worst; a path is as good as its worst part. Links have types of the same scale.
enum class PathType : std::uint8_t {
  loc,  ///< the device itself
  nvl,  ///< NVLink
  nvb,  ///< NVLink through another GPU
  c2c,  ///< NVLink-C2C between GPU and CPU
  pix,  ///< one PCIe switch; also the type of a PCIe link
  pxb,  ///< several PCIe switches
  p2c,  ///< GPU to CPU by C2C, then PCIe to the NIC
  pxn,  ///< NVLink to another GPU and its NIC
  phb,  ///< through a CPU
  sys,  ///< between CPUs
  net,  ///< over the network
  dis,  ///< no way
};

/// "NVL", "PIX", ...
std::string_view path_type_name(PathType type);
std::optional<PathType> path_type_named(std::string_view name);

}  // namespace shardsim::nccl
