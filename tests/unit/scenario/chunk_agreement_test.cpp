// Collectives message by message against their closed form: within 2 % above 1 MB, 10 % below, over
// machines, collectives, algorithms and protocols.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "models/scenario/collective_run.hpp"

namespace shardsim::scenario {
namespace {

using cuda::CollectiveKind;

struct Machine {
  std::string topology;
  std::int64_t nodes = 1;
};

struct Way {
  std::string algorithm;
  std::string protocol;
};

std::unique_ptr<CollectiveCluster> load(const Machine& machine, const Way& way) {
  const std::filesystem::path root(SHARDSIM_SOURCE_DIR);
  ClusterRequest request;
  request.topology = (root / "topologies" / (machine.topology + ".yaml")).string();
  request.nodes = machine.nodes;
  request.nccl_version = "2.27.7";
  if (!way.algorithm.empty()) request.env["NCCL_ALGO"] = way.algorithm;
  if (!way.protocol.empty()) request.env["NCCL_PROTO"] = way.protocol;
  DataFolders folders;
  folders.topologies = root / "topologies";
  simcore::Diagnostics diagnostics;
  auto cluster = load_collective_cluster(request, folders, diagnostics);
  REQUIRE_MESSAGE(cluster != nullptr, simcore::to_text(diagnostics));
  return cluster;
}

std::vector<std::int64_t> sizes() {
  std::vector<std::int64_t> all;
  for (std::int64_t bytes = 512; bytes <= std::int64_t{8} << 30; bytes *= 4) all.push_back(bytes);
  all.push_back(3'000'004);
  all.push_back(1'500'000);
  all.push_back(20'000'052);
  all.push_back(77'772);
  all.push_back(123'456'788);
  return all;
}

constexpr double bound_of(std::int64_t bytes) { return bytes > 1'000'000 ? 0.02 : 0.10; }

void check_agreement(const Machine& machine, const Way& way, CollectiveKind kind) {
  const auto cluster = load(machine, way);
  auto run = CollectiveRun::make(*cluster);
  REQUIRE(run.has_value());
  for (const std::int64_t bytes : sizes()) {
    CollectiveSettings settings;
    settings.kind = kind;
    const auto flow = run->run(settings, bytes);
    settings.fidelity = CollectiveFidelity::chunk;
    const auto chunk = run->run(settings, bytes);
    REQUIRE(flow.has_value());
    REQUIRE(chunk.has_value());
    if (!*flow) continue;
    const double error = std::abs((*chunk)->time_us / (*flow)->time_us - 1);
    CHECK_MESSAGE(
        error <= bound_of(bytes),
        fmt::format("{} x {}, collective {}, {} {}, {} bytes: flow {:.2f} us, chunk "
                    "{:.2f} us",
                    machine.nodes, machine.topology, static_cast<int>(kind), (*flow)->algorithm,
                    (*flow)->protocol, bytes, (*flow)->time_us, (*chunk)->time_us));
  }
}

const std::vector<Machine> machines{{"dgx-h100", 1},        {"dgx-h100", 2},
                                    {"dgx-h100", 3},        {"dgx-h100", 8},
                                    {"dgx-a100", 1},        {"dgx-a100", 2},
                                    {"dgx-b200", 1},        {"dgx-b200", 4},
                                    {"dgx-1v", 1},          {"pcie-8xl40s", 1},
                                    {"pcie-8xl40s", 2},     {"gb200-nvl72", 4},
                                    {"aws-p5", 2},          {"alcf-polaris", 4},
                                    {"alcf-polaris", 1},    {"cscs-alps", 1},
                                    {"cscs-alps", 4},       {"pcie-4xl40s", 1},
                                    {"pcie-4xl40s", 2},     {"dgx-2", 1},
                                    {"aws-p4d", 2},         {"gb200-nvl72", 1},
                                    {"gb200-nvl72", 36},    {"dgx-b200", 2},
                                    {"aws-p5", 5},          {"one-gpu-per-node-100g", 4},
                                    {"azure-nd-a100-v4", 3}};

}  // namespace

TEST_CASE("rings take as long message by message as in closed form") {
  for (const Machine& machine : machines) {
    for (const char* protocol : {"LL", "LL128", "Simple"}) {
      for (const CollectiveKind kind :
           {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce,
            CollectiveKind::broadcast, CollectiveKind::reduce}) {
        check_agreement(machine, {"Ring", protocol}, kind);
      }
    }
  }
}

TEST_CASE("trees do") {
  for (const Machine& machine : machines) {
    for (const char* protocol : {"LL", "LL128", "Simple"}) {
      check_agreement(machine, {"Tree", protocol}, CollectiveKind::all_reduce);
    }
  }
}

TEST_CASE("NVLink switches do") {
  for (const Machine& machine : {Machine{"dgx-h100", 1}, Machine{"dgx-b200", 1},
                                 Machine{"gb200-nvl72", 2}, Machine{"gb200-nvl72", 8}}) {
    for (const CollectiveKind kind :
         {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
      check_agreement(machine, {"NVLS", ""}, kind);
    }
  }
  for (const std::int64_t nodes : {2, 3, 4, 9, 16}) {
    check_agreement({"dgx-h100", nodes}, {"NVLSTree", ""}, CollectiveKind::all_reduce);
  }
}

TEST_CASE("PAT does") {
  for (const std::int64_t nodes : {2, 3, 4, 5, 8, 16, 31}) {
    for (const CollectiveKind kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter}) {
      check_agreement({"one-gpu-per-node-100g", nodes}, {"PAT", ""}, kind);
    }
  }
}

TEST_CASE("messages and NCCL's own choices do") {
  for (const Machine& machine : machines) {
    check_agreement(machine, {}, CollectiveKind::alltoall);
    check_agreement(machine, {}, CollectiveKind::sendrecv);
    check_agreement(machine, {}, CollectiveKind::all_reduce);
  }
}

TEST_CASE("a trace holds the bytes that the algorithm moves") {
  const auto cluster = load({"dgx-h100", 2}, {"Ring", "Simple"});
  auto run = CollectiveRun::make(*cluster);
  REQUIRE(run.has_value());
  CollectiveSettings settings;
  for (const std::int64_t bytes : {4, 100'004, 40'000'012}) {
    std::int64_t sent = 0;
    std::int64_t received = 0;
    nccl::TraceRecord last;
    bool ordered = true;
    const auto done = run->trace(
        settings, bytes, [&](const nccl::TraceRecord& row, const nccl::TraceTimes& times) {
          (row.action == nccl::TraceAction::send ? sent : received) += row.bytes;
          ordered &= std::tuple(last.rank, last.channel, last.role) <=
                     std::tuple(row.rank, row.channel, row.role);
          ordered &= times.start <= times.end;
          last = row;
        });
    REQUIRE(done.has_value());
    CHECK(sent == 2 * 15 * bytes);
    CHECK(received == sent);
    CHECK(ordered);
  }
  settings.kind = CollectiveKind::alltoall;
  std::int64_t sent = 0;
  std::int64_t copied = 0;
  REQUIRE(run->trace(settings, 16 * 100'000,
                     [&](const nccl::TraceRecord& row, const nccl::TraceTimes&) {
                       if (row.action == nccl::TraceAction::send) sent += row.bytes;
                       if (row.action == nccl::TraceAction::copy) copied += row.bytes;
                     })
              .has_value());
  CHECK(sent == 16 * 15 * 100'000);
  CHECK(copied == 16 * 100'000);
}

}  // namespace shardsim::scenario
