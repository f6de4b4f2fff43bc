#include "models/network/max_min_solver.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

namespace shardsim::network {

namespace {
// Levels closer than this are one level, so that symmetric classes, whose sums are rounded in
// different orders, freeze together and get the same rate to the bit.
constexpr double same_level = 1 + 1e-12;
// Subtracting the weights of variables that stop loses digits; below this share of the last exact
// sum the class is summed anew.
constexpr double trusted_share = 1.0 / 1024;
constexpr int bound_iterations = 8;

/// `value` where `mask` is all ones, 0 where it is 0, without a branch; also if `value` is
/// infinite.
double select(std::uint32_t mask, double value) {
  const auto wide = static_cast<std::uint64_t>(static_cast<std::int32_t>(mask));
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(value) & wide);
}
}  // namespace

void MaxMinSolver::mark_class(ClassId link_class) {
  if (work_.size() <= link_class) work_.resize(graph_.classes().size());
  if (work_[link_class].mark == open_mark_) return;
  work_[link_class].mark = open_mark_;
  reached_.push_back(link_class);
}

void MaxMinSolver::flows_left(ClassId link_class, double level) {
  left_bound_ = std::min(left_bound_, level);
  mark_class(link_class);
}

void MaxMinSolver::must_find_level(ClassId link_class) {
  unlevelled_.push_back(link_class);
  mark_class(link_class);
}

// Newton's iteration on the concave, piecewise linear load(x) = sum n w min(rate, x) = C, from
// below: every iterate is a lower bound, and a lower bound is all that is needed.
double MaxMinSolver::full_level(const LinkClass& link_class) const {
  double x = 0;
  for (int i = 0; i < bound_iterations; ++i) {
    double stopped = 0;
    double weight = 0;
    for (const ClassUser& user : graph_.users(link_class)) {
      const VariableLoad& load = graph_.loads()[user.variable];
      const double demand = load.count * user.weight;
      if (load.rate < x) {
        stopped += demand * load.rate;
      } else {
        weight += demand;
      }
    }
    if (weight <= 0) return infinity;
    const double next = (link_class.bandwidth - stopped) / weight;
    if (next <= x * same_level) break;
    x = next;
  }
  return x;
}

double MaxMinSolver::level_bound() const {
  double bound = left_bound_;
  for (const ClassId id : unlevelled_) {
    const LinkClass& link_class = graph_.classes()[id];
    bound = std::min({bound, link_class.level, full_level(link_class)});
  }
  return bound / same_level;
}

// Which variables lie above the bound no processor can predict: the loop selects without branches,
// and works on copies of what the compiler could not know to stay as it is.
void MaxMinSolver::collect_class(ClassId id, double bound) {
  LinkClass& link_class = graph_.classes()[id];
  const std::span<const ClassUser> users = graph_.users(link_class);
  const std::size_t before = affected_.size();
  affected_.resize(before + users.size());
  VariableLoad* const loads = graph_.loads().data();
  VariableId* next = affected_.data() + before;
  const std::uint32_t mark = open_mark_;
  double stopped = 0;
  double weight = 0;
  std::uint32_t open = 0;
  for (const ClassUser& user : users) {
    VariableLoad& load = loads[user.variable];
    const double rate = load.rate;
    const double demand = load.count * user.weight;
    const std::uint32_t above = rate < bound ? 0 : 1;
    const std::uint32_t is_new = above & (load.mark != mark ? 1U : 0U);
    stopped += select(above - 1, demand * rate);
    weight += select(0 - above, demand);
    open += above;
    *next = user.variable;
    next += is_new;
    load.mark ^= (load.mark ^ mark) & (0 - is_new);
  }
  affected_.resize(static_cast<std::size_t>(next - affected_.data()));
  ClassWork& work = work_[id];
  work.weight = weight;
  work.open = open;
  work.remaining = std::max(0.0, link_class.bandwidth - stopped);
  work.trusted = weight;
  link_class.level = infinity;
}

void MaxMinSolver::collect(double bound) {
  affected_.clear();
  capped_.clear();
  std::size_t reached_in_use = 0;
  for (const ClassId id : reached_) {
    if (graph_.classes()[id].users.size > 0) ++reached_in_use;
  }
  std::size_t seen = 0;
  for (std::size_t i = 0; i < reached_.size(); ++i) {  // grows on the way
    collect_class(reached_[i], bound);
    for (; seen < affected_.size() && reached_in_use < graph_.classes_in_use(); ++seen) {
      for (const VariableUse& use : graph_.uses(affected_[seen])) {
        if (work_[use.link_class].mark == open_mark_) continue;
        mark_class(use.link_class);
        ++reached_in_use;
      }
    }
  }
  if (!graph_.has_caps()) return;
  for (const VariableId variable : affected_) {
    if (graph_.cap(variable) > 0) capped_.emplace_back(graph_.cap(variable), variable);
  }
}

void MaxMinSolver::sum(ClassId id) {
  const LinkClass& link_class = graph_.classes()[id];
  ClassWork& work = work_[id];
  double stopped = 0;
  work.weight = 0;
  for (const ClassUser& user : graph_.users(link_class)) {
    const VariableLoad& load = graph_.loads()[user.variable];
    const double demand = load.count * user.weight;
    if (load.mark == open_mark_) {
      work.weight += demand;
    } else {
      stopped += demand * load.rate;
    }
  }
  work.remaining = std::max(0.0, link_class.bandwidth - stopped);
  work.trusted = work.weight;
}

void MaxMinSolver::stop(VariableId variable, double rate) {
  VariableLoad& load = graph_.loads()[variable];
  load.rate = rate;
  load.mark = open_mark_ + 1;
  for (const VariableUse& use : graph_.uses(variable)) {
    ClassWork& work = work_[use.link_class];
    const double demand = load.count * use.weight;
    work.remaining = std::max(0.0, work.remaining - demand * rate);
    work.weight -= demand;
    --work.open;
  }
}

/// The first entry of the heap gets a higher level.
void MaxMinSolver::sink_first(double level) {
  const Fill fill{level, heap_.front().link_class};
  std::size_t at = 0;
  for (std::size_t child = 1; child < heap_.size(); child = 2 * at + 1) {
    if (child + 1 < heap_.size() && later(heap_[child], heap_[child + 1])) ++child;
    if (!later(fill, heap_[child])) break;
    heap_[at] = heap_[child];
    at = child;
  }
  heap_[at] = fill;
}

// The class that is full first. Levels only rise while others stop, so that an entry of the heap
// is at worst too early; it is put right when it comes up.
bool MaxMinSolver::next_full(Fill& full) {
  while (!heap_.empty()) {
    const Fill top = heap_.front();
    ClassWork& work = work_[top.link_class];
    if (work.open > 0) {
      if (work.weight < work.trusted * trusted_share) sum(top.link_class);
      const double level = work.remaining / work.weight;
      if (level <= top.level * same_level) {
        full = top;
        return true;
      }
      sink_first(level);
    } else {
      std::pop_heap(heap_.begin(), heap_.end(), later);
      heap_.pop_back();
    }
  }
  return false;
}

void MaxMinSolver::fill() {
  heap_.clear();
  for (const ClassId id : reached_) {
    const ClassWork& work = work_[id];
    if (work.open > 0) heap_.push_back(Fill{work.remaining / work.weight, id});
  }
  std::make_heap(heap_.begin(), heap_.end(), later);
  std::sort(capped_.begin(), capped_.end());
  auto cap = capped_.begin();
  double level = 0;
  for (Fill full; next_full(full);) {
    while (cap != capped_.end() && graph_.loads()[cap->second].mark != open_mark_) ++cap;
    if (cap != capped_.end() && cap->first <= full.level) {
      stop(cap->second, cap->first);
      continue;
    }
    if (full.level > level * same_level) level = full.level;
    LinkClass& link_class = graph_.classes()[full.link_class];
    link_class.level = level;
    stopping_.resize(link_class.users.size);
    std::size_t count = 0;
    for (const ClassUser& user : graph_.users(link_class)) {
      stopping_[count] = user.variable;
      count += graph_.loads()[user.variable].mark == open_mark_ ? 1 : 0;
    }
    for (std::size_t i = 0; i < count; ++i) stop(stopping_[i], level);
    work_[full.link_class].open = 0;
  }
}

void MaxMinSolver::record_shares() {
  for (const ClassId id : reached_) {
    LinkClass& link_class = graph_.classes()[id];
    if (link_class.users.size == 0 || link_class.bandwidth <= 0) continue;
    const double share =
        link_class.level < infinity ? 1.0 : 1 - work_[id].remaining / link_class.bandwidth;
    link_class.peak_share = std::max(link_class.peak_share, share);
  }
}

void MaxMinSolver::next_mark() {
  open_mark_ += 2;
  if (open_mark_ != 0) return;
  open_mark_ = 2;
  for (ClassWork& work : work_) work.mark = 0;
  for (VariableLoad& load : graph_.loads()) load.mark = 0;
}

std::span<const VariableId> MaxMinSolver::solve() {
  if (reached_.empty()) return {};
  work_.resize(graph_.classes().size());
  collect(level_bound());
  fill();
  record_shares();
  classes_solved_ += reached_.size();
  reached_.clear();
  unlevelled_.clear();
  left_bound_ = infinity;
  next_mark();
  return affected_;
}

}  // namespace shardsim::network
