// NCCL_ALGO and NCCL_PROTO: which algorithms and protocols each collective may use.
//
//   ring,tree                      only these
//   ^ll128                         all but this; protocols left in are thereby allowed outright
//   ^ll128;allreduce:ll128         first for all collectives, then for one (from NCCL 2.24)
//
// Case does not matter. Source: NVIDIA/nccl 2.30.7, src/graph/tuning.cc (parseList).
#pragma once

#include <cstdint>
#include <string_view>

#include "models/nccl/nccl_version.hpp"
#include "models/nccl/tuning_types.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::nccl {

enum class Permission : std::uint8_t {
  refused,
  allowed,
  where_safe,  ///< LL128 that nobody asked for: where its stores stay in order
};

struct Permissions {
  PerCollective<PerAlgorithm<Permission>> algorithms;
  PerCollective<PerProtocol<Permission>> protocols;
  /// All algorithms, all protocols, LL128 where it is safe.
  Permissions();
};

/// Change `permissions` by the value of NCCL_ALGO or NCCL_PROTO. On an error they stay as they are.
void read_algorithm_list(std::string_view value, NcclVersion version,
                         const simcore::SourceLocation& where, simcore::Diagnostics& diagnostics,
                         Permissions& permissions);
void read_protocol_list(std::string_view value, NcclVersion version,
                        const simcore::SourceLocation& where, simcore::Diagnostics& diagnostics,
                        Permissions& permissions);

}  // namespace shardsim::nccl
