#include "models/scenario/rank_classes.hpp"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

namespace shardsim::scenario {
namespace {

/// `ranks` ranks in groups of `size` consecutive ones, and in groups of equal place.
ClassProblem hybrid(std::uint32_t ranks, std::uint32_t size) {
  ClassProblem problem;
  problem.ranks.assign(ranks, 0);
  problem.roles.resize(2);
  problem.roles[0].resize(ranks / size);
  problem.roles[1].resize(size);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    problem.roles[0][rank / size].ranks.push_back(rank);
    problem.roles[1][rank % size].ranks.push_back(rank);
  }
  return problem;
}

std::size_t count(const std::vector<Colour>& colours) {
  return std::set<Colour>(colours.begin(), colours.end()).size();
}

TEST_CASE("ranks that nothing tells apart are one class") {
  const RankClasses classes = find_classes(hybrid(32, 8));
  CHECK(count(classes.ranks) == 1);
  CHECK(count(classes.groups[0]) == 1);
  CHECK(count(classes.groups[1]) == 1);
}

TEST_CASE("a slow rank among all splits off alone where all are one group") {
  ClassProblem problem;
  problem.ranks.assign(1000, 0);
  problem.ranks[17] = 1;
  auto& world = problem.roles.emplace_back(1);
  for (std::uint32_t rank = 0; rank < 1000; ++rank) world[0].ranks.push_back(rank);
  const RankClasses classes = find_classes(problem);
  CHECK(count(classes.ranks) == 2);
  CHECK(std::ranges::count(classes.ranks, classes.ranks[17]) == 1);
}

TEST_CASE("a slow rank splits its node and its replicas off, and leaves the others together") {
  ClassProblem problem = hybrid(64, 8);
  problem.ranks[17] = 1;
  const RankClasses classes = find_classes(problem);
  // Itself; its node; the ranks of its place on other nodes; all others.
  CHECK(count(classes.ranks) == 4);
  CHECK(classes.ranks[16] == classes.ranks[23]);
  CHECK(classes.ranks[1] == classes.ranks[57]);
  CHECK(classes.ranks[0] == classes.ranks[63]);
  CHECK(classes.ranks[16] != classes.ranks[0]);
  CHECK(classes.ranks[1] != classes.ranks[0]);
}

TEST_CASE("a link of another bandwidth splits the groups whose data it carries") {
  ClassProblem problem = hybrid(32, 8);
  // Each group of places has a link of its own; that of place 3 is slow.
  problem.links.assign(8, 0);
  problem.links[3] = 1;
  for (std::uint32_t place = 0; place < 8; ++place) problem.roles[1][place].ties = {{place, 0}};
  const RankClasses classes = find_classes(problem);
  CHECK(count(classes.groups[1]) == 2);
  CHECK(count(classes.groups[0]) == 1);
  CHECK(count(classes.ranks) == 2);
  CHECK(std::ranges::count(classes.ranks, classes.ranks[3]) == 4);
}

TEST_CASE("groups that share a link with others differ from those that do not") {
  ClassProblem problem = hybrid(32, 8);
  problem.links.assign(8, 0);
  for (std::uint32_t place = 0; place < 8; ++place) {
    problem.roles[1][place].ties = {{place < 2 ? 0 : place, 0}};
  }
  const RankClasses classes = find_classes(problem);
  CHECK(count(classes.groups[1]) == 2);
  CHECK(classes.groups[1][0] == classes.groups[1][1]);
  CHECK(classes.groups[1][2] == classes.groups[1][7]);
}

TEST_CASE("the partition is equitable: members of a class meet the same classes everywhere") {
  ClassProblem problem = hybrid(96, 8);
  problem.ranks[5] = 1;
  problem.ranks[70] = 1;
  problem.ranks[71] = 2;
  const RankClasses classes = find_classes(problem);
  for (std::size_t role = 0; role < 2; ++role) {
    std::vector<std::multiset<Colour>> of_class(count(classes.groups[role]));
    for (std::size_t g = 0; g < problem.roles[role].size(); ++g) {
      std::multiset<Colour> members;
      for (const std::uint32_t rank : problem.roles[role][g].ranks) {
        members.insert(classes.ranks[rank]);
      }
      auto& known = of_class[classes.groups[role][g]];
      if (known.empty()) known = members;
      CHECK(known == members);
    }
  }
  CHECK(count(classes.ranks) < 96);
}

}  // namespace
}  // namespace shardsim::scenario
