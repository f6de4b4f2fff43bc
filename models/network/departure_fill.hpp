// Max-min fair rates again and again while flows only leave, in passes over flat arrays.
//
// Models: the same rates as MaxMinSolver. Where every end changes nearly all rates - an all-to-all
// of unequal sizes - nearly all variables still stop at the class that stopped them before, and
// the classes fill in nearly the old order. So each variable's class is remembered, and a class is
// filled from the others' levels alone:
//
//     level = (C - sum of n w level(stop) over classes that are full) / (sum of n w of the rest).
//
// Classes come up in the old order. One whose level turns out above the next one's waits; one whose
// level turns out below a level that a variable of it has got shows that the order was wrong: the
// classes filled above that level are emptied and come up again behind it. At the end each
// variable stops at a full class in which no other has a higher rate, which is what makes rates
// max-min fair, whatever the order was. Takes variables without caps; anything but flows that
// leave makes it void.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/network/sharing_graph.hpp"

namespace shardsim::network {

class DepartureFill {
 public:
  explicit DepartureFill(SharingGraph& graph) : graph_(graph) {}

  /// Copies the graph, whose rates must be solved; false, and void, if it has caps.
  bool build();
  void make_void() { valid_ = false; }
  /// Not void, and the graph's classes are those that were copied.
  bool valid() const { return valid_ && classes_ == graph_.classes().size(); }
  /// Flows of the variable left; its load has the new count and the graph still has its uses.
  void flows_left(VariableId variable);

  /// Finds the rates where levels of `bound` or more may have changed; writes them into the loads,
  /// levels and loads into the classes, and changed variables into `affected`. False, with all as
  /// it was but void, if the order of the classes was too far from the old one.
  bool solve(double bound, std::vector<VariableId>& affected);

  std::size_t classes_solved() const { return filled_.size(); }
  /// Entries of variables in classes looked at in the last solve.
  std::size_t entries_seen() const { return entries_seen_; }
  std::size_t entries() const { return stops_.size(); }

 private:
  using RowId = std::uint32_t;
  /// A class with its part of the flat arrays.
  struct Row {
    ClassId link_class = 0;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t own = 0;  ///< variables that stop here
    bool plain = true;      ///< all variables have one flow of weight 1
    bool joined = false;    ///< variables have come to stop here in this solve
    double bandwidth = 0;
    double level = 0;  ///< infinity while not full
    double load = 0;
  };
  /// What a class gives to a variable that stops there.
  struct Stop {
    double rate = 0;  ///< 0 while open
    double open = 0;  ///< 1 until the class is full in this solve
  };
  struct Place {
    RowId row = 0;
    std::uint32_t entry = 0;
    double weight = 0;
  };
  struct Sums {
    double load = 0;  ///< of variables that have stopped
    double open = 0;  ///< n w of the others
    double top = 0;   ///< highest rate of those that have stopped
  };
  struct Turn {
    double key;
    RowId row;
    double old_level;
  };
  struct Later {
    bool operator()(const Turn& a, const Turn& b) const {
      return a.key != b.key ? a.key > b.key : a.row > b.row;
    }
  };

  void add_class(ClassId link_class);
  bool add_variable(VariableId variable);
  std::span<const Place> places(VariableId variable) const;
  Sums sums(const Row& row) const;
  double lowered_level(const Row& row) const;
  void open_from(double bound);
  bool next_turn(Turn& turn);
  double next_key() const;
  void wait(const Turn& turn);
  bool try_class(const Turn& turn);
  bool empty_above(double level);
  void close(const Turn& turn, double level, const Sums& found);
  void join(RowId id);
  void write(std::vector<VariableId>& affected);
  void write_rates(const Row& row, RowId id, std::vector<VariableId>& affected);
  void sort_order();

  SharingGraph& graph_;
  bool valid_ = false;
  std::size_t classes_ = 0;
  std::size_t left_ = 0;  ///< entries whose variable is gone
  std::vector<Row> rows_;
  std::vector<Stop> levels_;  ///< by row, and one more at which variables stop that are gone
  std::vector<RowId> stops_;  ///< by entry: where the variable stops
  std::vector<VariableId> members_;
  std::vector<double> demands_;
  std::vector<std::uint32_t> first_place_;  ///< by variable, and the end
  std::vector<Place> places_;
  std::vector<RowId> row_of_;  ///< by class

  std::vector<RowId> order_;  ///< rows by level
  std::size_t first_ = 0;     ///< of those, first that may change
  std::size_t next_ = 0;
  std::vector<Turn> waiting_;  ///< a heap
  std::vector<Turn> filled_;   ///< key: new level
  double last_level_ = 0;
  std::size_t entries_seen_ = 0;
};

}  // namespace shardsim::network
