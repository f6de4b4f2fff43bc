#include <algorithm>

#include <doctest/doctest.h>

#include "tests/unit/nccl/nccl_fixture.hpp"

namespace shardsim::nccl {

namespace {

double weight_on(const Traffic& traffic, network::LinkId link) {
  const auto use = std::ranges::find(traffic.uses, link, &network::LinkUse::link);
  return use == traffic.uses.end() ? 0 : use->weight;
}

CommunicatorPlan plan_for(const Cluster& cluster, std::vector<int> ranks) {
  auto made = CommunicatorPlan::make(cluster.graph, one_group(std::move(ranks)));
  REQUIRE(made.has_value());
  return std::move(*made);
}

}  // namespace

TEST_CASE("a broadcast leaves out the hop back into the root, a reduce the hop out of it") {
  const Cluster cluster = make_cluster({.gpus = 4});
  CommunicatorPlan plan = plan_for(cluster, {2, 0, 1, 3});
  const auto into = cluster.link("node[0].nvswitch[0]", "node[0].gpu[2]");
  const auto out_of = cluster.link("node[0].gpu[2]", "node[0].nvswitch[0]");
  const Traffic& broadcast = **plan.traffic(Pattern::from_first);
  CHECK(weight_on(broadcast, into) == 0);
  CHECK(weight_on(broadcast, out_of) == 1);
  CHECK(broadcast.inside.hops == 3);
  const Traffic& reduce = **plan.traffic(Pattern::to_first);
  CHECK(weight_on(reduce, into) == 1);
  CHECK(weight_on(reduce, out_of) == 0);
  CHECK(reduce.inside.hops == 3);
}

TEST_CASE("an all-to-all loads each GPU with its peers, and NICs with those on other nodes") {
  const Cluster cluster = make_cluster({.nodes = 4, .gpus = 8});
  CommunicatorPlan plan = plan_for(cluster, ranks_below(32));
  const Traffic& traffic = **plan.traffic(Pattern::all_pairs);
  CHECK(traffic.inside.hops == 32 * 7);
  CHECK(traffic.between.hops == 32 * 24);
  // Each NIC carries what its node sends to 24 GPUs' worth of receivers on its rail: 8 senders to 3
  // receivers; receivers take 24 senders.
  CHECK(weight_on(traffic, cluster.link("node[1].nic[5]", "leaf[5]")) == 24);
  CHECK(weight_on(traffic, cluster.link("leaf[5]", "node[1].nic[5]")) == 24);
}

TEST_CASE("messages to another rail go over NVLink first and stay off the spine") {
  const Cluster cluster = make_cluster({.nodes = 2, .gpus = 4});
  CommunicatorPlan plan = plan_for(cluster, ranks_below(8));
  const Traffic& traffic = **plan.traffic(Pattern::all_pairs);
  for (int rail = 0; rail < 4; ++rail) {
    const std::string leaf = "leaf[" + std::to_string(rail) + "]";
    CHECK(weight_on(traffic, cluster.link(leaf, "spine[0]")) == 0);
  }
  // To four GPUs of the other node, three of them by way of a neighbour; and three neighbours; and
  // three messages of each neighbour that come by here.
  CHECK(weight_on(traffic, cluster.link("node[0].gpu[1]", "node[0].nvswitch[0]")) == 6);
  CHECK(weight_on(traffic, cluster.link("node[0].nvswitch[0]", "node[0].gpu[1]")) == 6);
}

TEST_CASE("send-receive goes to the next of the group") {
  const Cluster cluster = make_cluster({.nodes = 2, .gpus = 2});
  CommunicatorPlan plan = plan_for(cluster, ranks_below(4));
  const Traffic& traffic = **plan.traffic(Pattern::neighbours);
  CHECK(traffic.inside.hops == 2);
  CHECK(traffic.between.hops == 2);
  CHECK(weight_on(traffic, cluster.link("leaf[0]", "node[1].nic[0]")) == 1);
  CHECK(weight_on(traffic, cluster.link("leaf[1]", "node[1].nic[1]")) == 0);
}

TEST_CASE("two ranks exchange as neighbours and as all pairs alike") {
  const Cluster cluster = make_cluster({.gpus = 2});
  CommunicatorPlan plan = plan_for(cluster, ranks_below(2));
  const Traffic& neighbours = **plan.traffic(Pattern::neighbours);
  const Traffic& pairs = **plan.traffic(Pattern::all_pairs);
  REQUIRE(neighbours.uses.size() == pairs.uses.size());
  for (std::size_t i = 0; i < pairs.uses.size(); ++i) {
    CHECK(neighbours.uses[i].link == pairs.uses[i].link);
    CHECK(neighbours.uses[i].weight == pairs.uses[i].weight);
  }
}

}  // namespace shardsim::nccl
