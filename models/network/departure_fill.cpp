#include "models/network/departure_fill.hpp"

#include <algorithm>
#include <cmath>

namespace shardsim::network {

namespace {
// As in MaxMinSolver: levels closer than this are one level.
constexpr double same_level = 1 + 1e-12;
// Levels that differ by rounding only stay what they are.
constexpr double rounding = 1e-14;
// Rates that differ more from the level at which they stopped were not solved.
constexpr double solved = 1e-9;
// How many turns classes may take, of each and at least, before the order counts as lost.
constexpr std::size_t most_turns = 12;
constexpr std::size_t least_turns = 64;
constexpr int newton_iterations = 64;
}  // namespace

// --- The copy ---

bool DepartureFill::build() {
  valid_ = false;
  if (graph_.has_caps()) return false;
  rows_.clear();
  stops_.clear();
  members_.clear();
  demands_.clear();
  places_.clear();
  order_.clear();
  left_ = 0;
  classes_ = graph_.classes().size();
  row_of_.assign(classes_, none);
  first_place_.assign(graph_.loads().size() + 1, 0);
  for (ClassId id = 0; id < classes_; ++id) {
    if (graph_.classes()[id].users.size > 0) add_class(id);
  }
  for (VariableId variable = 0; variable < graph_.loads().size(); ++variable) {
    if (!add_variable(variable)) return false;
  }
  levels_.assign(rows_.size() + 1, Stop{});
  for (RowId id = 0; id < rows_.size(); ++id) {
    if (rows_[id].level < infinity) levels_[id].rate = rows_[id].level;
    order_.push_back(id);
  }
  std::sort(order_.begin(), order_.end(), [this](RowId a, RowId b) {
    return rows_[a].level != rows_[b].level ? rows_[a].level < rows_[b].level : a < b;
  });
  valid_ = true;
  return true;
}

void DepartureFill::add_class(ClassId link_class) {
  const LinkClass& record = graph_.classes()[link_class];
  Row row;
  row.link_class = link_class;
  row.bandwidth = record.bandwidth;
  row.level = record.level;
  row.load = record.load;
  row.begin = static_cast<std::uint32_t>(stops_.size());
  for (const ClassUser& user : graph_.users(record)) {
    const double demand = graph_.loads()[user.variable].count * user.weight;
    row.plain = row.plain && demand == 1;
    stops_.push_back(none);
    members_.push_back(user.variable);
    demands_.push_back(demand);
  }
  row.end = static_cast<std::uint32_t>(stops_.size());
  row_of_[link_class] = static_cast<RowId>(rows_.size());
  rows_.push_back(row);
}

/// Finds where it stops; false if nowhere, or if its rate is another one.
bool DepartureFill::add_variable(VariableId variable) {
  const VariableLoad& load = graph_.loads()[variable];
  const auto begin = static_cast<std::uint32_t>(places_.size());
  first_place_[variable] = begin;
  first_place_[variable + 1] = begin;
  if (load.count == 0 || graph_.uses(variable).empty()) return true;
  RowId stop = none;
  for (const VariableUse& use : graph_.uses(variable)) {
    const RowId row = row_of_[use.link_class];
    places_.push_back(Place{row, rows_[row].begin + use.position, use.weight});
    if (stop == none || rows_[row].level < rows_[stop].level) stop = row;
  }
  first_place_[variable + 1] = static_cast<std::uint32_t>(places_.size());
  if (!(std::abs(load.rate - rows_[stop].level) <= solved * load.rate)) return false;
  for (const Place& place : places(variable)) stops_[place.entry] = stop;
  ++rows_[stop].own;
  return true;
}

std::span<const DepartureFill::Place> DepartureFill::places(VariableId variable) const {
  const std::uint32_t first = first_place_[variable];
  return std::span(places_).subspan(first, first_place_[variable + 1] - first);
}

void DepartureFill::flows_left(VariableId variable) {
  if (!valid_) return;
  if (variable + 1 >= first_place_.size() || places(variable).empty()) return make_void();
  const std::uint32_t count = graph_.loads()[variable].count;
  const auto gone = static_cast<RowId>(rows_.size());
  const RowId stop = stops_[places(variable).front().entry];
  if (stop == gone) return make_void();
  if (count == 0) --rows_[stop].own;
  for (const Place& place : places(variable)) {
    demands_[place.entry] = count * place.weight;
    if (count > 0) {
      rows_[place.row].plain = rows_[place.row].plain && demands_[place.entry] == 1;
    } else {
      stops_[place.entry] = gone;
      ++left_;
    }
  }
}

// --- One class ---

// Two sums each, so that additions need not wait for each other.
DepartureFill::Sums DepartureFill::sums(const Row& row) const {
  const Stop* const levels = levels_.data();
  const RowId* const stops = stops_.data();
  const double* const demands = demands_.data();
  double load[2] = {0, 0};
  double open[2] = {0, 0};
  double top[2] = {0, 0};
  const auto add = [&](std::uint32_t entry, std::size_t half, double demand) {
    const Stop& stop = levels[stops[entry]];
    load[half] += demand * stop.rate;
    open[half] += demand * stop.open;
    top[half] = stop.rate > top[half] ? stop.rate : top[half];
  };
  std::uint32_t entry = row.begin;
  if (row.plain) {
    for (; entry + 1 < row.end; entry += 2) {
      add(entry, 0, 1);
      add(entry + 1, 1, 1);
    }
    if (entry < row.end) add(entry, 0, 1);
  } else {
    for (; entry < row.end; ++entry) add(entry, 0, demands[entry]);
  }
  return Sums{load[0] + load[1], open[0] + open[1], top[0] > top[1] ? top[0] : top[1]};
}

/// The level at which the class is full if its variables that have stopped may get less: Newton's
/// iteration on load(x) = sum n w min(rate, x) = C, from below.
double DepartureFill::lowered_level(const Row& row) const {
  const auto gone = static_cast<RowId>(rows_.size());
  double x = 0;
  for (int i = 0; i < newton_iterations; ++i) {
    double stopped = 0;
    double weight = 0;
    for (std::uint32_t entry = row.begin; entry < row.end; ++entry) {
      if (stops_[entry] == gone) continue;
      const Stop& stop = levels_[stops_[entry]];
      if (stop.open == 0 && stop.rate < x) {
        stopped += demands_[entry] * stop.rate;
      } else {
        weight += demands_[entry];
      }
    }
    if (weight <= 0) break;
    const double next = (row.bandwidth - stopped) / weight;
    if (next <= x) break;
    x = next;
  }
  return x;
}

// --- Classes in turn ---

void DepartureFill::open_from(double bound) {
  const auto first = std::partition_point(order_.begin(), order_.end(),
                                          [&](RowId id) { return rows_[id].level < bound; });
  first_ = next_ = static_cast<std::size_t>(first - order_.begin());
  for (auto id = first; id != order_.end(); ++id) {
    levels_[*id] = Stop{0, 1};
    rows_[*id].joined = false;
  }
  waiting_.clear();
  filled_.clear();
  last_level_ = 0;
  entries_seen_ = 0;
}

double DepartureFill::next_key() const {
  double key = infinity;
  if (next_ < order_.size()) key = rows_[order_[next_]].level;
  if (!waiting_.empty()) key = std::min(key, waiting_.front().key);
  return key;
}

bool DepartureFill::next_turn(Turn& turn) {
  Turn in_order{infinity, none, infinity};
  if (next_ < order_.size()) {
    const RowId id = order_[next_];
    in_order = Turn{rows_[id].level, id, rows_[id].level};
  }
  if (!waiting_.empty() && !Later{}(waiting_.front(), in_order)) {
    std::pop_heap(waiting_.begin(), waiting_.end(), Later{});
    turn = waiting_.back();
    waiting_.pop_back();
    return true;
  }
  turn = in_order;
  ++next_;
  return turn.row != none;
}

void DepartureFill::wait(const Turn& turn) {
  waiting_.push_back(turn);
  std::push_heap(waiting_.begin(), waiting_.end(), Later{});
}

/// Classes filled since the first above the level come up again; false if there is none.
bool DepartureFill::empty_above(double level) {
  const auto first = std::find_if(filled_.begin(), filled_.end(), [&](const Turn& turn) {
    return turn.key < infinity && turn.key > level;
  });
  if (first == filled_.end()) return false;
  for (auto turn = first; turn != filled_.end(); ++turn) {
    levels_[turn->row] = Stop{0, 1};
    wait(*turn);
  }
  filled_.erase(first, filled_.end());
  last_level_ = filled_.empty() ? 0 : filled_.back().key;
  if (last_level_ == infinity) last_level_ = 0;
  return true;
}

/// Fills the class, has it wait, or puts the order right; false if that is not possible.
bool DepartureFill::try_class(const Turn& turn) {
  const Row& row = rows_[turn.row];
  entries_seen_ += row.end - row.begin;
  const Sums found = sums(row);
  // A variable with a little more than its share, by rounding, does not make a class overfull.
  const double spare = (same_level - 1) * row.bandwidth;
  double level = infinity;
  bool overfull = found.load > row.bandwidth + spare;
  if (found.open > 0) {
    level = std::max(0.0, row.bandwidth - found.load) / found.open;
    overfull =
        overfull || (found.top > level * same_level && (found.top - level) * found.open > spare);
  }
  if (overfull) {
    level = lowered_level(row);
    if (!empty_above(level)) return false;
    wait(Turn{level, turn.row, turn.old_level});
    return true;
  }
  if (level < infinity && level > next_key() * same_level) {
    wait(Turn{level, turn.row, turn.old_level});
    return true;
  }
  close(turn, level, found);
  return true;
}

void DepartureFill::close(const Turn& turn, double level, const Sums& found) {
  Row& row = rows_[turn.row];
  if (level < infinity) {
    // Symmetric classes, whose sums are rounded in different orders, get the same level.
    if (level <= last_level_ * same_level && level * same_level >= last_level_) {
      level = last_level_;
    } else if (std::abs(level - turn.old_level) <= rounding * level) {
      level = turn.old_level;
    }
    last_level_ = level;
    if (!row.plain || found.open != row.own) join(turn.row);
  }
  row.load = level < infinity ? row.bandwidth : std::min(row.bandwidth, found.load);
  levels_[turn.row] = Stop{level < infinity ? level : 0, 0};
  filled_.push_back(Turn{level, turn.row, turn.old_level});
}

/// Variables of the class that have not stopped stop here.
void DepartureFill::join(RowId id) {
  const Row& row = rows_[id];
  for (std::uint32_t entry = row.begin; entry < row.end; ++entry) {
    const RowId before = stops_[entry];
    if (before == id || levels_[before].open == 0) continue;
    for (const Place& place : places(members_[entry])) stops_[place.entry] = id;
    --rows_[before].own;
    ++rows_[id].own;
    rows_[id].joined = true;
  }
}

bool DepartureFill::solve(double bound, std::vector<VariableId>& affected) {
  if (2 * left_ > stops_.size() && !build()) return false;
  open_from(bound);
  std::size_t turns = most_turns * (order_.size() - first_) + least_turns;
  for (Turn turn; next_turn(turn);) {
    if (turns-- == 0 || !try_class(turn)) {
      valid_ = false;
      return false;
    }
  }
  write(affected);
  sort_order();
  return true;
}

// --- Results ---

void DepartureFill::write(std::vector<VariableId>& affected) {
  affected.clear();
  for (const Turn& turn : filled_) {
    Row& row = rows_[turn.row];
    row.level = turn.key;
    LinkClass& link_class = graph_.classes()[row.link_class];
    link_class.level = row.level;
    link_class.load = row.load;
    if (row.end == row.begin || row.bandwidth <= 0) continue;
    link_class.peak_share =
        std::max(link_class.peak_share, row.level < infinity ? 1.0 : row.load / row.bandwidth);
    if (row.own > 0 && (row.joined || turn.key != turn.old_level)) {
      write_rates(row, turn.row, affected);
    }
  }
}

void DepartureFill::write_rates(const Row& row, RowId id, std::vector<VariableId>& affected) {
  const std::size_t before = affected.size();
  affected.resize(before + (row.end - row.begin));
  VariableId* next = affected.data() + before;
  for (std::uint32_t entry = row.begin; entry < row.end; ++entry) {
    *next = members_[entry];
    next += stops_[entry] == id ? 1 : 0;
  }
  affected.resize(static_cast<std::size_t>(next - affected.data()));
  VariableLoad* const loads = graph_.loads().data();
  for (std::size_t i = before; i < affected.size(); ++i) loads[affected[i]].rate = row.level;
}

// By insertion: they are nearly in order.
void DepartureFill::sort_order() {
  for (std::size_t i = 0; i < filled_.size(); ++i) {
    const RowId id = filled_[i].row;
    std::size_t at = first_ + i;
    for (; at > first_ &&
           Later{}({rows_[order_[at - 1]].level, order_[at - 1], 0}, {rows_[id].level, id, 0});
         --at) {
      order_[at] = order_[at - 1];
    }
    order_[at] = id;
  }
}

}  // namespace shardsim::network
