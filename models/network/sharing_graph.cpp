#include "models/network/sharing_graph.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <tuple>

namespace shardsim::network {

SharingGraph::SharingGraph(std::span<const Link> links) {
  class_of_.reserve(links.size());
  std::map<double, ClassId> by_bandwidth;
  for (const Link& link : links) {
    const double bandwidth = link.bandwidth.bytes_per_second;
    const auto next = static_cast<ClassId>(classes_.size());
    const auto [entry, is_new] = by_bandwidth.try_emplace(bandwidth, next);
    if (is_new) classes_.emplace_back().bandwidth = bandwidth;
    class_of_.push_back(entry->second);
    ++classes_[entry->second].links;
  }
}

void SharingGraph::classify(std::span<const LinkUse> uses, PoolSpan& classes) {
  sorted_.clear();
  sorted_.reserve(uses.size());
  for (const LinkUse& use : uses) {
    assert(use.link < class_of_.size() && use.weight > 0);
    sorted_.push_back(SortedUse{class_of_[use.link], use.link, use.weight});
  }
  std::sort(sorted_.begin(), sorted_.end(), [](const SortedUse& a, const SortedUse& b) {
    return std::tie(a.link_class, a.weight, a.link) < std::tie(b.link_class, b.weight, b.link);
  });
  for (auto first = sorted_.begin(); first != sorted_.end();) {
    const auto last = std::find_if(first, sorted_.end(), [first](const SortedUse& use) {
      return use.link_class != first->link_class;
    });
    classify_run({first, last}, classes);
    first = last;
  }
  // Sets of many links are few; their room is not worth keeping.
  constexpr std::size_t many = 1 << 16;
  if (sorted_.capacity() > many) sorted_ = {};
}

// `run` names links of one class, sorted by weight. Each weight splits off a class, except that
// the last one keeps the old class if nothing else is left in it.
void SharingGraph::classify_run(std::span<const SortedUse> run, PoolSpan& classes) {
  const ClassId parent = run.front().link_class;
  while (!run.empty()) {
    const double weight = run.front().weight;
    const auto end = std::find_if(run.begin(), run.end(),
                                  [weight](const SortedUse& use) { return use.weight != weight; });
    const auto part = run.first(static_cast<std::size_t>(end - run.begin()));
    const bool whole = part.size() == classes_[parent].links;
    const ClassId target = whole ? parent : split(parent, part);
    set_uses_.push_back(classes, SetUse{target, classes_[target].newest_child, weight});
    run = run.subspan(part.size());
  }
}

ClassId SharingGraph::split(ClassId parent, std::span<const SortedUse> part) {
  const auto child = static_cast<ClassId>(classes_.size());
  LinkClass record = classes_[parent];
  record.links = static_cast<std::uint32_t>(part.size());
  record.users = PoolSpan{};
  record.newest_child = none;
  record.older_sibling = classes_[parent].newest_child;
  classes_.push_back(record);
  classes_[parent].newest_child = child;
  classes_[parent].links -= record.links;
  for (const SortedUse& use : part) class_of_[use.link] = child;
  const std::uint32_t users = classes_[parent].users.size;
  for (std::uint32_t i = 0; i < users; ++i) {
    const ClassUser user = class_users_.at(classes_[parent].users, i);
    add_use(user.variable, child, user.weight);
  }
  return child;
}

void SharingGraph::refresh(PoolSpan& classes) {
  for (std::uint32_t i = 0; i < classes.size; ++i) {
    const SetUse use = set_uses_.at(classes, i);
    const ClassId newest = classes_[use.link_class].newest_child;
    for (ClassId child = newest; child != use.newest_child; child = classes_[child].older_sibling) {
      set_uses_.push_back(classes, SetUse{child, none, use.weight});
    }
    set_uses_.at(classes, i).newest_child = newest;
  }
}

ClassId SharingGraph::isolate(LinkId link) {
  const ClassId present = class_of_[link];
  if (classes_[present].links == 1) return present;
  const SortedUse part{present, link, 0};
  return split(present, {&part, 1});
}

void SharingGraph::grow_variables(std::size_t count) {
  uses_.resize(count);
  loads_.resize(count);
  caps_.resize(count, 0);
}

void SharingGraph::add_use(VariableId variable, ClassId link_class, double weight) {
  PoolSpan& uses = uses_[variable];
  PoolSpan& users = classes_[link_class].users;
  const ClassUser user{variable, uses.size, weight};
  variable_uses_.push_back(uses, VariableUse{link_class, users.size, weight});
  class_users_.push_back(users, user);
}

void SharingGraph::attach(VariableId variable, const PoolSpan& classes, double cap,
                          simcore::SimTime now) {
  caps_[variable] = cap;
  if (cap > 0) ++capped_;
  variable_uses_.reserve(uses_[variable], classes.size);
  for (const SetUse& use : set_uses_.view(classes)) {
    LinkClass& link_class = classes_[use.link_class];
    if (link_class.users.size == 0) link_class.busy_since = now;
    add_use(variable, use.link_class, use.weight);
  }
}

void SharingGraph::detach(VariableId variable, double bytes, simcore::SimTime now) {
  for (const VariableUse& use : variable_uses_.view(uses_[variable])) {
    LinkClass& link_class = classes_[use.link_class];
    link_class.bytes += use.weight * bytes;
    const std::uint32_t last = --link_class.users.size;
    const ClassUser moved = class_users_.at(link_class.users, last);
    class_users_.at(link_class.users, use.position) = moved;
    variable_uses_.at(uses_[moved.variable], moved.use).position = use.position;
    if (last == 0) link_class.busy += now - link_class.busy_since;
  }
  variable_uses_.release(uses_[variable]);
  if (caps_[variable] > 0) --capped_;
}

}  // namespace shardsim::network
