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
// From the changed classes the search spreads through variables at or above the bound only.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "models/network/sharing_graph.hpp"

namespace shardsim::network {

class MaxMinSolver {
 public:
  explicit MaxMinSolver(SharingGraph& graph) : graph_(graph) {}

  /// A variable of the class lost flows; its rate was `level`.
  void flows_left(ClassId link_class, double level);
  /// A variable of the class has new flows (its load's rate is infinity until solved), or its
  /// bandwidth changed.
  void must_find_level(ClassId link_class);

  /// Finds the rates; writes them into the loads, and the levels into the classes.
  /// Returns the variables that were looked at; the view holds until the next call.
  std::span<const VariableId> solve();

  std::uint64_t classes_solved() const { return classes_solved_; }

 private:
  struct ClassWork {
    double remaining = 0;    ///< bandwidth left by variables that have stopped
    double weight = 0;       ///< sum of n w over those that have not
    double trusted = 0;      ///< weight at the last exact sum
    std::uint32_t open = 0;  ///< how many have not
    std::uint32_t mark = 0;
  };
  struct Fill {
    double level;
    ClassId link_class;
  };
  static bool later(const Fill& a, const Fill& b) {
    return a.level != b.level ? a.level > b.level : a.link_class > b.link_class;
  }

  void mark_class(ClassId link_class);
  double level_bound() const;
  double full_level(const LinkClass& link_class) const;
  void collect(double bound);
  void collect_class(ClassId id, double bound);
  void sum(ClassId id);
  void fill();
  bool next_full(Fill& full);
  void sink_first(double level);
  void stop(VariableId variable, double rate);
  void record_shares();
  void next_mark();

  SharingGraph& graph_;
  std::vector<ClassId> reached_;     ///< changed classes first, then those the search finds
  std::vector<ClassId> unlevelled_;  ///< classes whose level is to be bounded
  double left_bound_ = infinity;
  std::vector<VariableId> affected_;
  std::vector<std::pair<double, VariableId>> capped_;
  std::vector<VariableId> stopping_;  ///< scratch of fill()
  std::vector<ClassWork> work_;
  std::vector<Fill> heap_;
  /// Mark of reached classes and of affected variables; +1 once those have stopped.
  std::uint32_t open_mark_ = 2;
  std::uint64_t classes_solved_ = 0;
};

}  // namespace shardsim::network
