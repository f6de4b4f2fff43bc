// Max-min fair rates, found again only where a change reaches.
//
// Models: progressive filling. The rates of all variables rise together; when a class of links is
// full, the variables that use it stop at that level; a variable with a cap stops at its cap. With
// n flows of weight w, bandwidth C and load L of variables that have stopped, a class is full at
//
//     level = (C - L) / (sum of n w over variables that have not stopped).
//
// Only what can have changed is filled again: everything that happens below the lowest level at
// which the old and the new system part ways is the same in both. That bound is
//   - for a variable that lost flows: its old rate;
//   - for a class with new flows or a new bandwidth: the level at which it would be full if every
//     other variable went on to its old rate (and its old level, when its bandwidth rose).
// From the changed classes the search spreads through variables at or above the bound only. It
// passes over classes with room to spare, whose load is only kept account of; should one of them
// turn out overfull, rates are found once more with it. (Up to the level at which it is full the
// old rates fill it, had it been full; so that level is not below the bound.)
//
// Where flows only leave, time and again, and each time most rates change, departure_fill.hpp finds
// the same rates with less work.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "models/network/departure_fill.hpp"
#include "models/network/sharing_graph.hpp"

namespace shardsim::network {

class MaxMinSolver {
 public:
  explicit MaxMinSolver(SharingGraph& graph) : graph_(graph), departures_(graph) {}

  /// Flows of the variable left: its load has the new count, the graph still has its uses. Called
  /// once, along with flows_left for each class of the variable.
  void variable_lost_flows(VariableId variable) { departures_.flows_left(variable); }

  /// A variable of the class lost flows, which moved `bytes_per_second` over it; its rate was
  /// `level`.
  void flows_left(ClassId link_class, double level, double bytes_per_second);
  /// A variable of the class has new flows: its load's rate is infinity until solved, and what it
  /// has moved so far, `bytes_per_second`, counts no more. Or the class's bandwidth changed.
  void must_find_level(ClassId link_class, double bytes_per_second);

  /// Finds the rates; writes them into the loads, and the levels into the classes.
  /// Returns the variables that were looked at; the view holds until the next call.
  std::span<const VariableId> solve();

  std::uint64_t classes_solved() const { return classes_solved_; }

 private:
  struct ClassWork {
    double remaining = 0;    ///< bandwidth left by variables that have stopped
    double weight = 0;       ///< sum of n w over those that have not
    double trusted = 0;      ///< weight at the last exact sum
    double change = 0;       ///< of the load, by variables that have stopped
    std::uint32_t open = 0;  ///< how many have not
    std::uint32_t mark = 0;
    std::uint32_t unlevelled = 0;  ///< mark of a class whose level is to be bounded
    double level() const { return remaining > 0 ? remaining / weight : 0; }
  };
  struct Fill {
    double level;
    ClassId link_class;
  };
  /// A type, not a function: heaps inline it.
  struct Later {
    bool operator()(const Fill& a, const Fill& b) const {
      return a.level != b.level ? a.level > b.level : a.link_class > b.link_class;
    }
  };

  void mark_class(ClassId link_class);
  bool is_roomy(const LinkClass& link_class) const;
  bool reach_all(double bound);
  void pass_over(ClassId link_class);
  double level_bound() const;
  double full_level(const LinkClass& link_class) const;
  void collect(double bound);
  void collect_class(ClassId id, double bound);
  void sum(ClassId id);
  void fill();
  bool next_full(Fill& full);
  void sink_first(double level);
  void stop(VariableId variable, double rate, ClassId full);
  void settle();
  void record_shares();
  void next_mark();
  void solve_from(double bound);
  bool solve_departures(double bound);
  void watch_departures();

  SharingGraph& graph_;
  DepartureFill departures_;
  std::size_t patience_ = 4;         ///< solves in a row that must pay before departures_ is built
  std::size_t paying_ = 0;           ///< such solves until now
  std::size_t wasted_ = 0;           ///< entries that departures_ has looked at in vain
  std::vector<ClassId> reached_;     ///< changed classes first, then those the search finds
  std::vector<ClassId> roomy_;       ///< classes passed over, but used by variables looked at
  std::vector<ClassId> overfull_;    ///< those of them that must be looked at after all
  std::vector<ClassId> unlevelled_;  ///< classes whose level is to be bounded
  double left_bound_ = infinity;
  std::vector<VariableId> affected_;
  std::vector<std::pair<double, VariableId>> capped_;
  std::vector<VariableId> stopping_;  ///< scratch
  std::vector<ClassWork> work_;
  std::vector<Fill> heap_;
  /// Mark of reached classes and of affected variables; +1 once those have stopped.
  std::uint32_t open_mark_ = 2;
  std::uint64_t classes_solved_ = 0;
};

}  // namespace shardsim::network
