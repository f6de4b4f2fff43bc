// Who shares what: variables (bundles of flows that move alike) and classes of links, two-sided.
//
// Models: links that every set of links ever used names alike - all of them or none, with one
// weight - and that have one bandwidth carry the same load at all times, so that they are one
// class with one equation. A ring over 100,000 links of a regular cluster is a handful of classes.
// A new set of links, or a changed bandwidth, splits the classes that it divides; classes never
// merge. A variable is all flows over one set of links with one cap; they have one rate.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "models/network/flow_network.hpp"
#include "models/network/large_pages.hpp"
#include "models/network/span_pool.hpp"
#include "simcore/time.hpp"

namespace shardsim::network {

using ClassId = std::uint32_t;
using VariableId = std::uint32_t;
template <class T>
using LargePool = SpanPool<T, LargeArray<T>>;

inline constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

struct LinkClass {
  double bandwidth = 0;          ///< bytes/s of each link
  double level = infinity;       ///< rate at which the class is full; infinity while it is not
  double load = 0;               ///< bytes/s that its users move, as of the last solve
  PoolSpan users;                ///< of ClassUser
  std::uint32_t links = 0;       ///< how many links it stands for
  ClassId newest_child = none;   ///< class split off last
  ClassId older_sibling = none;  ///< class split off the same parent before this one

  // Statistics of each link; flows still running are counted on top by their variables.
  double bytes = 0;
  simcore::SimTime busy;
  simcore::SimTime busy_since;  ///< holds while there are users
  double peak_share = 0;
};

struct ClassUser {
  VariableId variable = 0;
  std::uint32_t use = 0;  ///< index into the variable's uses
  double weight = 0;
};

struct VariableUse {
  ClassId link_class = 0;
  std::uint32_t position = 0;  ///< index into the class's users
  double weight = 0;
};

/// A set of links in terms of classes. Splits that happened since are caught up by `refresh`.
struct SetUse {
  ClassId link_class = 0;
  ClassId newest_child = none;  ///< of link_class when this was last brought up to date
  double weight = 0;
};

/// What the solver reads in its inner loops, apart from the rest of a variable.
struct VariableLoad {
  double rate = 0;          ///< of each flow, bytes/s; infinity: to be found, above any bound
  std::uint32_t count = 0;  ///< flows in the variable
  std::uint32_t mark = 0;   ///< of the solver
};

class SharingGraph {
 public:
  explicit SharingGraph(std::span<const Link> links);

  /// Appends to `classes` the classes that make up `uses`, splitting those it divides.
  void classify(std::span<const LinkUse> uses, PoolSpan& classes);
  /// Brings `classes` up to date with the splits since.
  void refresh(PoolSpan& classes);
  void release_set(PoolSpan& classes) { set_uses_.release(classes); }
  /// Makes the link a class of its own and returns it.
  ClassId isolate(LinkId link);

  /// Makes room for variables 0..count-1.
  void grow_variables(std::size_t count);
  /// `classes` must be up to date.
  void attach(VariableId variable, const PoolSpan& classes, double cap, simcore::SimTime now);
  /// `bytes`: what each link of weight 1 carried for the variable, added to the statistics.
  void detach(VariableId variable, double bytes, simcore::SimTime now);

  ClassId class_of(LinkId link) const { return class_of_[link]; }
  std::size_t link_count() const { return class_of_.size(); }
  std::vector<LinkClass>& classes() { return classes_; }
  const std::vector<LinkClass>& classes() const { return classes_; }
  std::span<const ClassUser> users(const LinkClass& link_class) const {
    return class_users_.view(link_class.users);
  }
  std::span<const VariableUse> uses(VariableId variable) const {
    return variable_uses_.view(uses_[variable]);
  }
  /// Asks for the memory of a variable's uses, which will be needed soon.
  void fetch_uses(VariableId variable) const {
    const std::span<const VariableUse> uses = this->uses(variable);
    __builtin_prefetch(uses.data());
    __builtin_prefetch(uses.data() + uses.size() - 1);
    __builtin_prefetch(&loads_[variable], 1);
  }
  LargeArray<VariableLoad>& loads() { return loads_; }
  const LargeArray<VariableLoad>& loads() const { return loads_; }
  bool has_caps() const { return capped_ > 0; }
  double cap(VariableId variable) const { return caps_[variable]; }  ///< 0: none

 private:
  struct SortedUse {
    ClassId link_class;
    LinkId link;
    double weight;
  };
  ClassId split(ClassId parent, std::span<const SortedUse> part);
  void classify_run(std::span<const SortedUse> run, PoolSpan& classes);
  void add_use(VariableId variable, ClassId link_class, double weight);

  std::vector<ClassId> class_of_;  ///< by link
  std::vector<LinkClass> classes_;
  LargePool<ClassUser> class_users_;
  LargeArray<PoolSpan> uses_;  ///< by variable
  LargePool<VariableUse> variable_uses_;
  LargeArray<VariableLoad> loads_;
  LargeArray<double> caps_;
  std::size_t capped_ = 0;  ///< variables that have a cap
  LargePool<SetUse> set_uses_;
  std::vector<SortedUse> sorted_;  ///< scratch of classify
};

}  // namespace shardsim::network
