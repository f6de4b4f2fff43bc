#include "models/nccl/double_binary_tree.hpp"

#include <bit>

namespace shardsim::nccl {
namespace {

TreePosition first_tree(int count, int member) {
  TreePosition position;
  if (member == 0) {
    const auto last = static_cast<unsigned>(count - 1);
    position.children[1] = count > 1 ? static_cast<int>(std::bit_floor(last)) : -1;
    return position;
  }
  const int bit = member & -member;
  const int above = (member ^ bit) | (bit << 1);
  position.parent = above < count ? above : member ^ bit;
  position.child_number = member < position.parent ? 0 : 1;
  if (bit == 1) return position;
  int reach = bit >> 1;
  position.children[0] = member - reach;
  while (reach > 0 && member + reach >= count) reach >>= 1;
  if (reach > 0) position.children[1] = member + reach;
  return position;
}

}  // namespace

TreePosition binary_tree_position(int count, int member, int tree) {
  if (tree == 0) return first_tree(count, member);
  const bool mirrors = count % 2 == 0;
  const int image = mirrors ? count - 1 - member : (member - 1 + count) % count;
  const auto back = [&](int other) {
    if (other < 0) return -1;
    return mirrors ? count - 1 - other : (other + 1) % count;
  };
  TreePosition position = first_tree(count, image);
  position.parent = back(position.parent);
  position.children = {back(position.children[0]), back(position.children[1])};
  return position;
}

}  // namespace shardsim::nccl
