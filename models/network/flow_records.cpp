#include "models/network/flow_records.hpp"

#include <utility>

namespace shardsim::network {

FlowId FlowPool::add(const Flow& flow) {
  if (free_.empty()) {
    flows_.push_back(flow);
    return static_cast<FlowId>(flows_.size() - 1);
  }
  const FlowId id = free_.back();
  free_.pop_back();
  flows_[id] = flow;
  return id;
}

FlowId FlowPool::meld(FlowId a, FlowId b) {
  const Flow& x = flows_[a];
  const Flow& y = flows_[b];
  if (y.target < x.target || (y.target == x.target && y.sequence < x.sequence)) std::swap(a, b);
  flows_[b].sibling = std::exchange(flows_[a].child, b);
  return a;
}

// The children are melded in pairs from the left, the pairs together from the right.
FlowId FlowPool::remove_root(FlowId root) {
  FlowId pairs = none;
  for (FlowId child = flows_[root].child; child != none;) {
    FlowId pair = child;
    child = std::exchange(flows_[pair].sibling, none);
    if (child != none) {
      const FlowId second = child;
      child = std::exchange(flows_[second].sibling, none);
      pair = meld(pair, second);
    }
    flows_[pair].sibling = pairs;
    pairs = pair;
  }
  FlowId merged = none;
  while (pairs != none) {
    const FlowId next = std::exchange(flows_[pairs].sibling, none);
    merged = insert(merged, pairs);
    pairs = next;
  }
  flows_[root].child = none;
  return merged;
}

FlowId FlowPool::take_out(FlowId root, FlowId flow) {
  if (root == flow) return remove_root(root);
  std::vector<FlowId> open{root};
  FlowId rest = none;
  while (!open.empty()) {
    const FlowId at = open.back();
    open.pop_back();
    for (FlowId child = std::exchange(flows_[at].child, none); child != none;) {
      open.push_back(child);
      child = std::exchange(flows_[child].sibling, none);
    }
    if (at != flow) rest = insert(rest, at);
  }
  return rest;
}

}  // namespace shardsim::network
