// What to tell a user whose step does not fit: the request, and where the memory is.
#pragma once

#include <string>

#include "models/cuda/allocator_statistics.hpp"
#include "simcore/quantity.hpp"

namespace shardsim::cuda {

struct MemoryShortage {
  simcore::Bytes requested;
  simcore::Bytes segment;   ///< what the device was asked for
  simcore::Bytes capacity;  ///< what the pools may take
  simcore::Bytes reserved;
  simcore::Bytes allocated;
  simcore::Bytes pending;         ///< freed, still in use on other streams
  simcore::Bytes cached;          ///< free in the pools, all streams
  simcore::Bytes largest_cached;  ///< largest free block that the request's stream could use
  BytesByKind allocated_by_kind{};
};

/// One line, without a final newline.
std::string to_text(const MemoryShortage& shortage);

}  // namespace shardsim::cuda
