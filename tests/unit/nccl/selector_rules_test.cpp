#include <doctest/doctest.h>

#include "models/nccl/choice.hpp"
#include "models/nccl/schedule_group.hpp"
#include "models/nccl/tuning_constants.hpp"

namespace shardsim::nccl {

using enum Collective;
using simcore::Bytes;

namespace {

/// Eight H100 a node with eight NICs of 400 Gbit/s.
TuningInputs h100(int nodes, NcclVersion version = newest_version) {
  TuningInputs inputs;
  CommunicatorFacts& facts = inputs.communicator;
  facts.version = version;
  facts.nodes = nodes;
  facts.ranks = 8 * nodes;
  facts.least_local_ranks = facts.most_local_ranks = 8;
  facts.nvswitch = true;
  facts.multicast = true;
  const double speed = nodes == 1 ? 30 : 48;
  inputs.ring = {.pattern = 4,
                 .channels = nodes == 1 ? 12 : 8,
                 .bw_intra_gbps = speed,
                 .bw_inter_gbps = speed,
                 .type_intra = PathType::nvl,
                 .type_inter = PathType::pix,
                 .same_channels = true};
  inputs.tree = inputs.ring;
  inputs.tree.pattern = nodes == 1 ? 1 : 3;
  inputs.nvls = inputs.ring;
  inputs.nvls.channels = 8;
  inputs.nvls.bw_intra_gbps = 40;
  inputs.nvls.bw_inter_gbps = nodes == 1 ? 60 : 48;
  return inputs;
}

Environment with(const std::map<std::string, std::string>& variables,
                 NcclVersion version = newest_version) {
  simcore::Diagnostics diagnostics;
  Environment environment = read_environment(variables, version, {}, diagnostics);
  REQUIRE(diagnostics.all().empty());
  return environment;
}

Algorithm chosen(const TuningInputs& inputs, const Environment& environment,
                 const Operation& operation) {
  const auto choice = Selector(inputs, environment).choose(operation);
  REQUIRE(choice.has_value());
  return choice->algorithm;
}

std::int64_t elements(const ChannelRange& range) {
  std::int64_t sum = 0;
  for (int channel = range.first; channel <= range.last; ++channel) {
    sum += range.part(channel).elements;
  }
  return sum;
}

}  // namespace

TEST_CASE("NCCL_ALGO and NCCL_PROTO decide") {
  const Operation large{all_reduce, Bytes{1 << 30}};
  CHECK(chosen(h100(1), {}, large) == Algorithm::nvls);
  CHECK(chosen(h100(1), with({{"NCCL_ALGO", "Ring"}}), large) == Algorithm::ring);
  CHECK(chosen(h100(1), with({{"NCCL_ALGO", "allreduce:tree"}}), large) == Algorithm::tree);
  CHECK(chosen(h100(1), with({{"NCCL_NVLS_ENABLE", "0"}}), large) == Algorithm::ring);
  const auto choice = Selector(h100(2), with({{"NCCL_PROTO", "LL"}})).choose(large);
  REQUIRE(choice.has_value());
  CHECK(choice->protocol == Protocol::ll);
}

TEST_CASE("if NCCL_ALGO leaves nothing, old versions take rings and new ones refuse") {
  const Operation gather{all_gather, Bytes{1 << 20}};
  for (const NcclVersion version : {NcclVersion{18, 3}, {19, 3}, {22, 3}, {23, 4}}) {
    CHECK(chosen(h100(2, version), with({{"NCCL_ALGO", "Tree"}}, version), gather) ==
          Algorithm::ring);
  }
  const auto choice = Selector(h100(2), with({{"NCCL_ALGO", "Tree"}})).choose(gather);
  REQUIRE_FALSE(choice.has_value());
  CHECK(choice.error().find("AllGather") != std::string::npos);
}

TEST_CASE("types and reductions that a switch cannot add up do without NVLS") {
  const Operation sum{all_reduce, Bytes{1 << 30}, gpu::DataType::bf16, Reduction::sum};
  CHECK(chosen(h100(1), {}, sum) == Algorithm::nvls);
  for (const auto& [type, reduction] : {std::pair{gpu::DataType::bf16, Reduction::average},
                                        {gpu::DataType::fp8, Reduction::sum},
                                        {gpu::DataType::fp32, Reduction::maximum}}) {
    CHECK(chosen(h100(1), {}, {all_reduce, Bytes{1 << 30}, type, reduction}) == Algorithm::ring);
  }
}

TEST_CASE("fp8 sums of many ranks avoid rings") {
  const Operation fp8{all_reduce, Bytes{1 << 30}, gpu::DataType::fp8, Reduction::sum};
  CHECK(chosen(h100(8), {}, fp8) == Algorithm::tree);
  CHECK(chosen(h100(8, {23, 4}), {}, fp8) == Algorithm::ring);
}

TEST_CASE("NVLS gathers among 32 ranks of a node at most, whatever the model prefers") {
  TuningInputs domain = h100(1);
  domain.communicator.least_compute_capability = domain.communicator.most_compute_capability = 100;
  domain.communicator.ranks = domain.communicator.most_local_ranks = 72;
  domain.nvls.channels = 32;
  const Operation gather{all_gather, Bytes{1 << 20}};
  CHECK(chosen(domain, {}, gather) == Algorithm::ring);
  CHECK(Selector(domain, {}, KernelLimits::ignored).choose(gather)->algorithm == Algorithm::nvls);
}

TEST_CASE("channels stay within what the environment says") {
  const Operation large{all_reduce, Bytes{1 << 30}};
  const auto channels = [&](const std::map<std::string, std::string>& variables) {
    return Selector(h100(2), with(variables)).choose(large)->most_channels;
  };
  CHECK(channels({{"NCCL_ALGO", "Ring"}}) == 16);
  CHECK(channels({{"NCCL_ALGO", "Ring"}, {"NCCL_MAX_NCHANNELS", "4"}}) == 4);
  CHECK(channels({{"NCCL_ALGO", "Ring"}, {"NCCL_MAX_CTAS", "4"}}) == 4);
  CHECK(channels({{"NCCL_ALGO", "Ring"}, {"NCCL_MIN_NCHANNELS", "32"}}) == 32);
  CHECK(channels({{"NCCL_ALGO", "NVLSTree"}}) == 16);
  CHECK(channels({{"NCCL_ALGO", "NVLSTree"}, {"NCCL_NVLS_NCHANNELS", "8"}}) == 8);
}

TEST_CASE("in-network reduction needs a plugin and the environment") {
  TuningInputs inputs = h100(4);
  inputs.communicator.collnet = {.offered = true, .gathers = true, .scatters = true, .heads = 8};
  inputs.collnet_direct = inputs.collnet_chain = inputs.nvls;
  const Operation large{all_reduce, Bytes{1 << 30}};
  const auto only = with({{"NCCL_ALGO", "CollNetDirect"}});
  CHECK_FALSE(Selector(inputs, only).choose(large).has_value());
  const auto enabled = with({{"NCCL_ALGO", "CollNetDirect"}, {"NCCL_COLLNET_ENABLE", "1"}});
  REQUIRE(Selector(inputs, enabled).choose(large).has_value());
  // 8 heads for 8 GPUs: half of 8 x 40 GB/s, 85 % of it from Hopper on.
  CHECK(Selector(inputs, enabled)
            .table()
            .cells[all_reduce][Algorithm::collnet_direct][Protocol::simple]
            .bandwidth_gbps == doctest::Approx(8 * 40 * 0.85 / 2));
}

TEST_CASE("a communicator of one rank has a choice that takes no time") {
  TuningInputs alone;
  alone.communicator.most_local_ranks = 1;
  const auto choice = Selector(alone, {}).choose({all_reduce, Bytes{1 << 20}});
  REQUIRE(choice.has_value());
  CHECK(choice->predicted_us == 0);
}

TEST_CASE("all elements are placed, on channels that exist, whatever the version and the size") {
  for (const NcclVersion version : {NcclVersion{18, 3}, {21, 5}, {22, 3}, {30, 7}}) {
    const Selector selector(h100(2, version), {});
    for (const Collective collective : all_collectives) {
      for (std::int64_t bytes = 64; bytes <= std::int64_t{1} << 33; bytes = bytes * 5 + 48) {
        const Operation operation{collective, Bytes{bytes / 64 * 64}};
        const auto choice = selector.select(operation, 1);
        REQUIRE(choice.has_value());
        const ScheduledOperation one = selector.scheduled(operation, *choice);
        const ChannelRange range = schedule(selector.schedule_inputs(), std::span(&one, 1)).front();
        CAPTURE(bytes);
        REQUIRE(elements(range) == one.elements);
        REQUIRE(range.first == 0);
        REQUIRE(range.last < choice->most_channels);
        REQUIRE(range.low.chunking.chunk_bytes > 0);
      }
    }
  }
}

TEST_CASE("small operations of a group are chosen together and share channels in turn") {
  const Selector selector(h100(2), {});
  const std::vector<Operation> group(64, Operation{all_gather, Bytes{1 << 20}});
  const auto planned = plan_group(selector, group);
  REQUIRE(planned.has_value());
  REQUIRE(planned->size() == 64);
  CHECK(planned->front().choice.algorithm == planned->back().choice.algorithm);
  CHECK(planned->front().choice.predicted_us ==
        selector.select({all_gather, Bytes{64 << 20}}, 4)->predicted_us);
  int last = 0;
  std::vector<std::int64_t> load(16);
  for (const PlannedOperation& one : *planned) {
    CHECK(elements(one.range) == (1 << 20) / 16);
    CHECK(one.range.first >= last);
    last = one.range.first;
    for (int channel = one.range.first; channel <= one.range.last; ++channel) {
      load.at(static_cast<std::size_t>(channel)) += one.range.part(channel).elements;
    }
  }
  CHECK(last == 15);
  // 64 x 64 KiB on 16 channels; cells are 2 KiB.
  for (const std::int64_t bytes : load) CHECK(std::abs(bytes - 4 * 65'536) <= 2'048);
}

TEST_CASE("a group starts with its largest kind and leaves out empty operations") {
  const Selector selector(h100(2), {});
  const std::vector<Operation> group{{reduce_scatter, Bytes{1 << 12}},
                                     {all_gather, Bytes{1 << 22}},
                                     {all_gather, Bytes{0}},
                                     {all_gather, Bytes{1 << 20}}};
  const auto planned = plan_group(selector, group);
  REQUIRE(planned.has_value());
  std::vector<std::size_t> order;
  for (const PlannedOperation& one : *planned) order.push_back(one.operation);
  CHECK(order == std::vector<std::size_t>{3, 1, 0});
}

}  // namespace shardsim::nccl
