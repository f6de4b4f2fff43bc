#include "models/scenario/rank_classes.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace shardsim::scenario {

namespace {

using Signature = std::vector<std::uint32_t>;

struct SignatureHash {
  std::size_t operator()(const Signature& signature) const {
    std::uint64_t hash = signature.size();
    for (const std::uint32_t word : signature) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;  // 2^64 / golden ratio
      hash ^= hash >> 29;
    }
    return static_cast<std::size_t>(hash);
  }
};

/// Numbers signatures by first appearance.
class Palette {
 public:
  Colour colour(Signature signature) {
    const auto next = static_cast<Colour>(known_.size());
    return known_.try_emplace(std::move(signature), next).first->second;
  }
  std::size_t size() const { return known_.size(); }

 private:
  std::unordered_map<Signature, Colour, SignatureHash> known_;
};

/// Appends (first, second, how many) for each distinct pair.
void append_counts(Signature& signature,
                   std::vector<std::pair<std::uint32_t, std::uint32_t>>& all) {
  std::ranges::sort(all);
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i;
    while (end < all.size() && all[end] == all[i]) ++end;
    signature.push_back(all[i].first);
    signature.push_back(all[i].second);
    signature.push_back(static_cast<std::uint32_t>(end - i));
    i = end;
  }
}

class Refinement {
 public:
  explicit Refinement(const ClassProblem& problem)
      : problem_(problem), ranks_(problem.ranks), links_(problem.links) {
    for (const auto& role : problem.roles) {
      auto& colours = groups_.emplace_back();
      for (const RankGroup& group : role) colours.push_back(group.colour);
    }
    index_links();
  }

  RankClasses run() {
    std::size_t before = 0;
    for (std::size_t colours = 1; colours != before;) {
      before = colours;
      colours = refine_links() + refine_groups() + refine_ranks();
    }
    return {ranks_, groups_};
  }

 private:
  using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  struct Load {
    std::uint32_t label;
    std::uint32_t role;
    std::uint32_t group;
  };

  /// Loads by link, one after another.
  void index_links() {
    first_load_.assign(links_.size() + 1, 0);
    for (const auto& role : problem_.roles) {
      for (const RankGroup& group : role) {
        for (const LinkTie& tie : group.ties) ++first_load_[tie.link + 1];
      }
    }
    std::partial_sum(first_load_.begin(), first_load_.end(), first_load_.begin());
    loads_.resize(first_load_.back());
    std::vector<std::size_t> next = first_load_;
    for (std::uint32_t role = 0; role < problem_.roles.size(); ++role) {
      for (std::uint32_t group = 0; group < problem_.roles[role].size(); ++group) {
        for (const LinkTie& tie : problem_.roles[role][group].ties) {
          loads_[next[tie.link]++] = {tie.label, role, group};
        }
      }
    }
  }

  std::size_t refine_links() {
    Palette palette;
    Pairs pairs;
    for (std::size_t link = 0; link < links_.size(); ++link) {
      if (first_load_[link] == first_load_[link + 1]) continue;  // carries nothing
      Signature signature{links_[link]};
      pairs.clear();
      for (std::size_t i = first_load_[link]; i < first_load_[link + 1]; ++i) {
        pairs.emplace_back(loads_[i].label, groups_[loads_[i].role][loads_[i].group]);
      }
      append_counts(signature, pairs);
      links_[link] = palette.colour(std::move(signature));
    }
    return palette.size();
  }

  /// Colours of groups stay apart between roles through their labels and the ranks' order of roles.
  std::size_t refine_groups() {
    std::size_t colours = 0;
    Pairs pairs;
    for (std::size_t role = 0; role < groups_.size(); ++role) {
      Palette palette;
      for (std::size_t i = 0; i < groups_[role].size(); ++i) {
        const RankGroup& group = problem_.roles[role][i];
        Signature signature{groups_[role][i]};
        pairs.clear();
        for (const std::uint32_t rank : group.ranks) pairs.emplace_back(ranks_[rank], 0);
        append_counts(signature, pairs);
        signature.push_back(UINT32_MAX);
        pairs.clear();
        for (const LinkTie& tie : group.ties) pairs.emplace_back(tie.label, links_[tie.link]);
        append_counts(signature, pairs);
        groups_[role][i] = palette.colour(std::move(signature));
      }
      colours += palette.size();
    }
    return colours;
  }

  std::size_t refine_ranks() {
    std::vector<Signature> signatures(ranks_.size());
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) signatures[rank] = {ranks_[rank]};
    for (std::uint32_t role = 0; role < groups_.size(); ++role) {
      for (std::size_t i = 0; i < groups_[role].size(); ++i) {
        for (const std::uint32_t rank : problem_.roles[role][i].ranks) {
          signatures[rank].push_back(role);
          signatures[rank].push_back(groups_[role][i]);
        }
      }
    }
    Palette palette;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      ranks_[rank] = palette.colour(std::move(signatures[rank]));
    }
    return palette.size();
  }

  const ClassProblem& problem_;
  std::vector<Colour> ranks_;
  std::vector<Colour> links_;
  std::vector<std::vector<Colour>> groups_;
  std::vector<std::size_t> first_load_;
  std::vector<Load> loads_;
};

}  // namespace

RankClasses find_classes(const ClassProblem& problem) { return Refinement(problem).run(); }

RankClasses one_class_each(const ClassProblem& problem) {
  RankClasses classes;
  classes.ranks.resize(problem.ranks.size());
  std::iota(classes.ranks.begin(), classes.ranks.end(), 0U);
  for (const auto& role : problem.roles) {
    auto& colours = classes.groups.emplace_back(role.size());
    std::iota(colours.begin(), colours.end(), 0U);
  }
  return classes;
}

}  // namespace shardsim::scenario
