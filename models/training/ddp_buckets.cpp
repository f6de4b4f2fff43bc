#include "models/training/ddp_buckets.hpp"

namespace shardsim::training {

std::vector<std::vector<std::size_t>> assign_buckets(std::span<const simcore::Bytes> sizes,
                                                     simcore::Bytes first_cap, simcore::Bytes cap) {
  std::vector<std::vector<std::size_t>> buckets;
  std::vector<std::size_t> open;
  simcore::Bytes open_size;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    open.push_back(i);
    open_size += sizes[i];
    if (open_size < (buckets.empty() ? first_cap : cap)) continue;
    buckets.push_back(std::move(open));
    open.clear();
    open_size = {};
  }
  if (!open.empty()) buckets.push_back(std::move(open));
  return buckets;
}

}  // namespace shardsim::training
