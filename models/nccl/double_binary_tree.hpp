// Two binary trees over the same members, such that an inner member of one is a leaf of the other.
//
// Source: NCCL graph/trees.cc; the construction is that of Sanders, Speck and Traeff, "Two-tree
// algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 35 (2009).
#pragma once

#include <array>

namespace shardsim::nccl {

struct TreePosition {
  int parent = -1;                         ///< -1 at the root
  std::array<int, 2> children = {-1, -1};  ///< -1 where there is none
  int child_number = 0;                    ///< which child of its parent this is
};

/// Position of `member` among `count` in tree 0 or 1. In tree 0 the depth of a member falls with
/// the lowest set bit of its number; tree 1 is its mirror image for an even count, and shifted by
/// one for an odd count.
TreePosition binary_tree_position(int count, int member, int tree);

}  // namespace shardsim::nccl
