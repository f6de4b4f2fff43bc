#include "models/network/max_min_solver.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>

namespace shardsim::network {

namespace {
// Levels closer than this are one level, so that symmetric classes, whose sums are rounded in
// different orders, freeze together and get the same rate to the bit.
constexpr double same_level = 1 + 1e-12;
// Subtracting the weights of variables that stop loses digits; below this share of the last exact
// sum the class is summed anew.
constexpr double trusted_share = 1.0 / 1024;
constexpr int bound_iterations = 8;
// How many variables ahead memory is asked for.
constexpr std::size_t ahead = 8;
// A class that is not full is passed over below the first share of its bandwidth, and looked at
// after all above the second: what additions lose is far less than what lies between it and 1.
constexpr double roomy_share = 0.999;
constexpr double overfull_share = 1 - 1e-9;
// Passes over all classes pay where each changes many variables: at least so many, and one in so
// many of all, and of the entries looked at.
constexpr std::size_t many_variables = 48;
constexpr std::size_t share_of_variables = 8;
constexpr std::size_t share_of_entries = 64;
constexpr std::size_t most_patience = 1U << 20U;

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

/// Whether the search must look at a class that it comes to.
bool MaxMinSolver::is_roomy(const LinkClass& link_class) const {
  return link_class.level == infinity && link_class.load < roomy_share * link_class.bandwidth;
}

void MaxMinSolver::flows_left(ClassId link_class, double level, double bytes_per_second) {
  LinkClass& left = graph_.classes()[link_class];
  left.load -= bytes_per_second;
  if (left.level == infinity) return;  // there was room before, and nobody waited for it
  left_bound_ = std::min(left_bound_, level);
  mark_class(link_class);
}

void MaxMinSolver::must_find_level(ClassId link_class, double bytes_per_second) {
  graph_.classes()[link_class].load -= bytes_per_second;
  departures_.make_void();
  mark_class(link_class);
  if (work_[link_class].unlevelled == open_mark_) return;
  work_[link_class].unlevelled = open_mark_;
  unlevelled_.push_back(link_class);
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

/// Reaches all classes that the search may still come to - full, at the bound or above - if it has
/// come to most of them; whether it has. One that it would not have come to keeps its level.
bool MaxMinSolver::reach_all(double bound) {
  const std::vector<LinkClass>& classes = graph_.classes();
  stopping_.clear();
  for (ClassId id = 0; id < classes.size(); ++id) {
    const LinkClass& link_class = classes[id];
    if (link_class.users.size == 0 || work_[id].mark == open_mark_) continue;
    if (link_class.level >= bound && !is_roomy(link_class)) stopping_.push_back(id);
  }
  if (stopping_.size() > reached_.size()) return false;
  for (const ClassId id : stopping_) mark_class(id);
  return true;
}

void MaxMinSolver::collect(double bound) {
  affected_.clear();
  capped_.clear();
  roomy_.clear();
  std::size_t patience = graph_.classes().size() / 4;
  bool all = false;
  std::size_t seen = 0;
  std::size_t at = 0;
  while (at < reached_.size()) {  // grows on the way
    collect_class(reached_[at++], bound);
    for (; seen < affected_.size() && !all; ++seen) {
      if (seen == patience) {
        patience *= 2;
        all = reach_all(bound);
        if (all) break;
      }
      for (const VariableUse& use : graph_.uses(affected_[seen])) {
        if (work_[use.link_class].mark == open_mark_) continue;
        if (!is_roomy(graph_.classes()[use.link_class])) mark_class(use.link_class);
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

void MaxMinSolver::pass_over(ClassId link_class) {
  work_[link_class].mark = open_mark_;
  work_[link_class].change = 0;
  roomy_.push_back(link_class);
}

// What remains may end a hair below 0; it only falls, so that it is enough to see to it where it is
// read. The copies are of what the compiler could not know to stay as it is.
void MaxMinSolver::stop(VariableId variable, double rate, ClassId full) {
  VariableLoad& load = graph_.loads()[variable];
  const std::uint32_t mark = open_mark_;
  const double count = load.count;
  const double change = load.rate < infinity ? rate - load.rate : rate;
  load.rate = rate;
  load.mark = mark + 1;
  ClassWork* const all_work = work_.data();
  for (const VariableUse& use : graph_.uses(variable)) {
    if (use.link_class == full) continue;
    ClassWork& work = all_work[use.link_class];
    if (work.mark != mark) pass_over(use.link_class);
    const double demand = count * use.weight;
    work.remaining -= demand * rate;
    work.weight -= demand;
    work.change += demand * change;
    --work.open;
  }
}

/// The first entry of the heap gets a higher level.
void MaxMinSolver::sink_first(double level) {
  const Fill fill{level, heap_.front().link_class};
  std::size_t at = 0;
  for (std::size_t child = 1; child < heap_.size(); child = 2 * at + 1) {
    if (child + 1 < heap_.size() && Later{}(heap_[child], heap_[child + 1])) ++child;
    if (!Later{}(fill, heap_[child])) break;
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
      const double level = work.level();
      if (level <= top.level * same_level) {
        full = top;
        return true;
      }
      sink_first(level);
    } else {
      std::pop_heap(heap_.begin(), heap_.end(), Later{});
      heap_.pop_back();
    }
  }
  return false;
}

void MaxMinSolver::fill() {
  heap_.clear();
  for (const ClassId id : reached_) {
    const ClassWork& work = work_[id];
    if (work.open > 0) heap_.push_back(Fill{work.level(), id});
  }
  std::make_heap(heap_.begin(), heap_.end(), Later{});
  std::sort(capped_.begin(), capped_.end());
  auto cap = capped_.begin();
  double level = 0;
  for (Fill full; next_full(full);) {
    while (cap != capped_.end() && graph_.loads()[cap->second].mark != open_mark_) ++cap;
    if (cap != capped_.end() && cap->first <= full.level) {
      stop(cap->second, cap->first, none);
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
    for (std::size_t i = 0; i < count; ++i) {
      if (i + ahead < count) graph_.fetch_uses(stopping_[i + ahead]);
      stop(stopping_[i], level, full.link_class);
    }
    work_[full.link_class].open = 0;
  }
}

void MaxMinSolver::settle() {
  for (const ClassId id : reached_) {
    LinkClass& link_class = graph_.classes()[id];
    link_class.load = link_class.bandwidth;
    if (link_class.level == infinity) link_class.load -= std::max(0.0, work_[id].remaining);
  }
  overfull_.clear();
  for (const ClassId id : roomy_) {
    LinkClass& link_class = graph_.classes()[id];
    link_class.load += work_[id].change;
    if (link_class.load > overfull_share * link_class.bandwidth) overfull_.push_back(id);
  }
}

void MaxMinSolver::record_shares() {
  for (const auto* classes : {&reached_, &roomy_}) {
    for (const ClassId id : *classes) {
      LinkClass& link_class = graph_.classes()[id];
      if (link_class.users.size == 0 || link_class.bandwidth <= 0) continue;
      const double share =
          link_class.level < infinity ? 1.0 : link_class.load / link_class.bandwidth;
      link_class.peak_share = std::max(link_class.peak_share, share);
    }
  }
}

void MaxMinSolver::next_mark() {
  open_mark_ += 2;
  if (open_mark_ != 0) return;
  open_mark_ = 2;
  for (ClassWork& work : work_) work.mark = work.unlevelled = 0;
  for (VariableLoad& load : graph_.loads()) load.mark = 0;
}

void MaxMinSolver::solve_from(double bound) {
  while (true) {
    collect(bound);
    fill();
    settle();
    if (overfull_.empty()) break;
    next_mark();
    reached_.insert(reached_.end(), overfull_.begin(), overfull_.end());
    for (const ClassId id : reached_) work_[id].mark = open_mark_;
  }
  record_shares();
  classes_solved_ += reached_.size();
}

/// Whether the passes over all classes found the rates.
bool MaxMinSolver::solve_departures(double bound) {
  if (!departures_.valid()) return false;
  if (!departures_.solve(bound, affected_)) {
    patience_ = std::min(2 * patience_, most_patience);
    paying_ = 0;
    return false;
  }
  classes_solved_ += departures_.classes_solved();
  const std::size_t useful = share_of_entries * affected_.size();
  wasted_ += departures_.entries_seen();
  wasted_ -= std::min(wasted_, useful);
  if (wasted_ > share_of_variables * departures_.entries()) departures_.make_void();
  return true;
}

/// Builds the flat arrays when enough solves in a row would have gained by them.
void MaxMinSolver::watch_departures() {
  const std::size_t changed = affected_.size();
  const bool pays = unlevelled_.empty() && changed >= many_variables &&
                    share_of_variables * changed >= graph_.loads().size();
  paying_ = pays ? paying_ + 1 : 0;
  if (paying_ < patience_) return;
  paying_ = 0;
  wasted_ = 0;
  if (!departures_.build()) patience_ = std::min(2 * patience_, most_patience);
}

std::span<const VariableId> MaxMinSolver::solve() {
  if (reached_.empty()) return {};
  work_.resize(graph_.classes().size());
  const double bound = level_bound();
  if (!solve_departures(bound)) {
    solve_from(bound);
    watch_departures();
  }
  reached_.clear();
  unlevelled_.clear();
  left_bound_ = infinity;
  next_mark();
  return affected_;
}

}  // namespace shardsim::network
