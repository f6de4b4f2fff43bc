#include "models/cuda/collective_name.hpp"

namespace shardsim::cuda {

const char* collective_name(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_gather:
      return "all_gather";
    case CollectiveKind::reduce_scatter:
      return "reduce_scatter";
    case CollectiveKind::all_reduce:
      return "all_reduce";
    case CollectiveKind::broadcast:
      return "broadcast";
    case CollectiveKind::reduce:
      return "reduce";
    case CollectiveKind::alltoall:
      return "alltoall";
    case CollectiveKind::sendrecv:
      return "sendrecv";
  }
  return "collective";
}

}  // namespace shardsim::cuda
