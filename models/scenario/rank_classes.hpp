// Which ranks move alike, so that one of them can stand for all.
//
// Models: colour refinement (the coarsest equitable partition) of a graph whose vertices are ranks,
// groups of ranks that communicate, and links. Ranks begin with the colour of what they are
// (program, hardware, slowdown, jitter), groups with that of how their collectives are carried out,
// links with that of their bandwidth. Then
//   - ranks stay alike while they are in groups alike, role by role;
//   - groups stay alike while their members, and the links that their data load, are alike;
//   - links stay alike while groups alike load them alike;
// until nothing splits any more. Ranks of one class then do the same at the same times: their
// groups' flows see equal demands on equal links, so that max-min fairness gives them equal rates.
// Assumes that a rank's behaviour depends on nothing else; that holds for the runtime, whose ranks
// meet in collectives only. Colours are compared, not hashed: no two are ever mistaken for alike.
#pragma once

#include <cstdint>
#include <vector>

#include "models/network/graph.hpp"

namespace shardsim::scenario {

using Colour = std::uint32_t;

/// A group's data put a load on a link. Equal labels: equal loads, in the same collectives.
struct LinkTie {
  network::LinkId link = 0;
  std::uint32_t label = 0;
};

struct RankGroup {
  std::vector<std::uint32_t> ranks;
  Colour colour = 0;          ///< how its collectives are carried out
  std::vector<LinkTie> ties;  ///< empty throughout if no role has more than one group
};

struct ClassProblem {
  std::vector<Colour> ranks;                  ///< initial colours
  std::vector<std::vector<RankGroup>> roles;  ///< a rank is in one group of a role at most
  std::vector<Colour> links;                  ///< initial colours; may be empty without ties
};

struct RankClasses {
  std::vector<Colour> ranks;                ///< class of each, numbered by first appearance
  std::vector<std::vector<Colour>> groups;  ///< [role][group], numbered within the role
};

RankClasses find_classes(const ClassProblem& problem);

/// Every rank and every group in a class of its own.
RankClasses one_class_each(const ClassProblem& problem);

}  // namespace shardsim::scenario
