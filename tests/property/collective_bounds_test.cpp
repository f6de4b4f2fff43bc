// Collectives on clusters drawn at random: never faster than bandwidth and latency allow, no slower
// on a better network unless NCCL then chooses otherwise, and alike at every fidelity.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include "models/scenario/checks/collective_check.hpp"
#include "models/scenario/collective_run.hpp"
#include "simcore/random.hpp"

namespace shardsim::scenario {
namespace {

using cuda::CollectiveKind;

const std::filesystem::path root = SHARDSIM_SOURCE_DIR;

struct Machine {
  const char* topology;
  int most_nodes;
  int gpus;
  double nvlink_gbs;  ///< of a link; 0: none
  double nic_gbits;
  double nic_us;
  const char* fabric;  ///< a line of YAML; empty: the machine's own
};

constexpr Machine machines[] = {
    {"dgx-h100", 6, 8, 25, 400, 0.85, ""},
    {"dgx-a100", 4, 8, 25, 200, 1.0, ""},
    {"dgx-b200", 4, 8, 50, 400, 0.85, ""},
    {"dgx-h100", 5, 8, 25, 400, 0.85, "{kind: fat_tree, nodes_per_leaf: 1, spines: 2}"},
    {"dgx-h100", 8, 8, 25, 400, 0.85,
     "{kind: fat_tree, nodes_per_leaf: 2, oversubscription: 4, spines: 1}"},
    {"dgx-h100", 6, 8, 25, 400, 0.85, "{kind: rail_only, nodes_per_leaf: 32}"},
    {"pcie-8xl40s", 2, 8, 0, 100, 1.3, ""},
    {"one-gpu-per-node-100g", 9, 1, 0, 100, 1.3, ""},
};

constexpr CollectiveKind kinds[] = {CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                                    CollectiveKind::all_reduce, CollectiveKind::broadcast,
                                    CollectiveKind::reduce,     CollectiveKind::alltoall,
                                    CollectiveKind::sendrecv};

/// A cluster as it is drawn, and as it is with something made better.
struct Cluster {
  Machine machine{};
  int nodes = 1;
  double nvlink = 1;  ///< factors on the machine's own figures
  double nic = 1;
  double latency = 1;  ///< of the NICs
};

struct Operation {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t bytes = 0;
};

Cluster draw_cluster(simcore::RandomStream& random) {
  Cluster cluster;
  cluster.machine = machines[random.below(std::size(machines))];
  cluster.nodes =
      1 + static_cast<int>(random.below(static_cast<std::uint64_t>(cluster.machine.most_nodes)));
  const auto factor = [&random] { return 0.25 * std::pow(2.0, 0.1 * double(random.below(31))); };
  cluster.nvlink = factor();
  cluster.nic = factor();
  cluster.latency = factor();
  return cluster;
}

Operation draw_operation(simcore::RandomStream& random) {
  const double exponent = 10 + 0.01 * static_cast<double>(random.below(2000));
  return {kinds[random.below(std::size(kinds))],
          static_cast<std::int64_t>(std::pow(2.0, exponent)) / 4096 * 4096 + 4096};
}

std::string text_of(const Cluster& cluster) {
  const Machine& machine = cluster.machine;
  std::string text = fmt::format("name: drawn\nextends: {}\nnode:\n", machine.topology);
  if (machine.nvlink_gbs > 0) {
    text += fmt::format("  nvlink: {{link: {{bandwidth: {:.6f} GB/s}}}}\n",
                        machine.nvlink_gbs * cluster.nvlink);
  }
  text += fmt::format("  nics: {{link: {{bandwidth: {:.6f} Gbit/s, latency: {:.6f} us}}}}\n",
                      machine.nic_gbits * cluster.nic, machine.nic_us * cluster.latency);
  if (machine.fabric[0] != '\0') text += fmt::format("fabric: {}\n", machine.fabric);
  return text;
}

class LoadedCluster {
 public:
  explicit LoadedCluster(const Cluster& cluster) {
    const std::filesystem::path file =
        std::filesystem::temp_directory_path() / fmt::format("shardsim-{}-drawn.yaml", getpid());
    std::ofstream(file) << text_of(cluster);
    ClusterRequest request;
    request.topology = file.string();
    request.nodes = cluster.nodes;
    request.nccl_version = "2.27.7";
    simcore::Diagnostics diagnostics;
    cluster_ =
        load_collective_cluster(request, {root / "topologies", root / "scenarios"}, diagnostics);
    std::filesystem::remove(file);
    REQUIRE_MESSAGE(cluster_ != nullptr, simcore::to_text(diagnostics) << text_of(cluster));
    auto run = CollectiveRun::make(*cluster_);
    REQUIRE(run.has_value());
    run_ = std::make_unique<CollectiveRun>(std::move(*run));
  }

  CollectiveRow row(const Operation& operation, CollectiveFidelity fidelity) {
    const auto row = run_->run(settings(operation, fidelity), operation.bytes);
    REQUIRE_MESSAGE(row.has_value(), row.error());
    REQUIRE(row->has_value());
    return **row;
  }
  static CollectiveSettings settings(const Operation& operation, CollectiveFidelity fidelity) {
    CollectiveSettings settings;
    settings.kind = operation.kind;
    settings.fidelity = fidelity;
    return settings;
  }
  const CollectiveCluster& cluster() const { return *cluster_; }
  CollectiveRun& run() { return *run_; }

 private:
  std::unique_ptr<CollectiveCluster> cluster_;
  std::unique_ptr<CollectiveRun> run_;
};

std::string choice(const CollectiveRow& row) {
  return fmt::format("{} {} {} channels, {} threads, chunks of {}", row.algorithm, row.protocol,
                     row.channels, row.threads, row.chunk_bytes);
}

/// us that the slowest GPU needs to take in and give out what it must.
double bandwidth_bound_us(const CollectiveCluster& cluster, const Operation& operation,
                          std::int64_t bytes) {
  const network::Graph& graph = cluster.graph;
  double most = 0;
  for (int rank = 0; rank < cluster.ranks(); ++rank) {
    double in = 0;
    double out = 0;
    for (const network::Link& link : graph.links()) {
      if (link.to == graph.gpu(rank)) in += link.bandwidth.bytes_per_second;
      if (link.from == graph.gpu(rank)) out += link.bandwidth.bytes_per_second;
    }
    const LeastBytes least =
        least_bytes(operation.kind, static_cast<double>(bytes),
                    static_cast<std::size_t>(cluster.ranks()), static_cast<std::size_t>(rank));
    if (least.received > 0) most = std::max(most, least.received / in * 1e6);
    if (least.sent > 0) most = std::max(most, least.sent / out * 1e6);
  }
  return most;
}

/// Bytes that must come into node `node` from the others, whatever the algorithm.
double least_into_node(const CollectiveCluster& cluster, CollectiveKind kind, double bytes,
                       int node) {
  const double ranks = cluster.ranks();
  double inside = 0;
  for (int rank = 0; rank < cluster.ranks(); ++rank) {
    inside += cluster.graph.node_of(rank) == node ? 1 : 0;
  }
  const double outside = ranks - inside;
  if (outside == 0) return 0;
  const bool holds_root = cluster.graph.node_of(0) == node;
  switch (kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::sendrecv:
      return bytes;
    case CollectiveKind::all_gather:
      return bytes * outside / ranks;
    case CollectiveKind::reduce_scatter:
      return bytes * inside / ranks;
    case CollectiveKind::broadcast:
      return holds_root ? 0 : bytes;
    case CollectiveKind::reduce:
      return holds_root ? bytes : 0;
    case CollectiveKind::alltoall:
      return bytes * inside * outside / ranks;
  }
  return 0;
}

double cut_bound_us(const CollectiveCluster& cluster, const Operation& operation,
                    std::int64_t bytes) {
  const network::Graph& graph = cluster.graph;
  double most = 0;
  for (int node = 0; node < cluster.nodes(); ++node) {
    double in = 0;
    for (const network::Link& link : graph.links()) {
      const bool enters =
          graph.vertices()[link.to].node == node && graph.vertices()[link.from].node != node;
      if (enters) in += link.bandwidth.bytes_per_second;
    }
    const double least = least_into_node(cluster, operation.kind, static_cast<double>(bytes), node);
    if (least > 0) most = std::max(most, least / in * 1e6);
  }
  return most;
}

/// Steps of a ring one after the other, each over at least the fastest link.
double latency_bound_us(const CollectiveCluster& cluster, const Operation& operation,
                        const CollectiveRow& row) {
  double link_us = std::numeric_limits<double>::infinity();
  for (const network::Link& link : cluster.graph.links()) {
    link_us = std::min(link_us, link.latency.microseconds());
  }
  if (cluster.ranks() < 2) return 0;
  if (row.algorithm != "Ring") return link_us;
  const int rounds = operation.kind == CollectiveKind::all_reduce ? 2 : 1;
  return rounds * (cluster.ranks() - 1) * link_us;
}

std::string describe(const Cluster& cluster, const Operation& operation) {
  return fmt::format("{}{} nodes, collective {}, {} bytes", text_of(cluster), cluster.nodes,
                     static_cast<int>(operation.kind), operation.bytes);
}

constexpr std::uint64_t first_seed = 1;

/// A chunk-level run of very many messages has nothing to add but time.
constexpr double most_chunk_bytes = 64e6;

}  // namespace

TEST_CASE("no collective is faster than its bytes through the narrowest place, or its steps") {
  MESSAGE("seeds from ", first_seed);
  for (std::uint64_t seed = first_seed; seed < first_seed + 120; ++seed) {
    CAPTURE(seed);
    simcore::RandomStream random(seed, "bounds");
    const Cluster drawn = draw_cluster(random);
    LoadedCluster cluster(drawn);
    for (int i = 0; i < 6; ++i) {
      const Operation operation = draw_operation(random);
      for (const CollectiveFidelity fidelity :
           {CollectiveFidelity::flow, CollectiveFidelity::chunk}) {
        const bool chunk = fidelity == CollectiveFidelity::chunk;
        if (chunk && static_cast<double>(operation.bytes) > most_chunk_bytes) continue;
        const CollectiveRow row = cluster.row(operation, fidelity);
        const double slack = 1 + 1e-9;
        const auto say = [&] { return describe(drawn, operation) + ": " + choice(row); };
        CHECK_MESSAGE(
            row.time_us * slack >= bandwidth_bound_us(cluster.cluster(), operation, row.bytes),
            say());
        CHECK_MESSAGE(row.time_us * slack >= cut_bound_us(cluster.cluster(), operation, row.bytes),
                      say());
        CHECK_MESSAGE(row.time_us * slack >= latency_bound_us(cluster.cluster(), operation, row),
                      say());
      }
      CheckLog log;
      const CollectiveRow row = cluster.row(operation, CollectiveFidelity::flow);
      const auto looked_at = cluster.run().check(
          LoadedCluster::settings(operation, CollectiveFidelity::flow), row, log);
      CHECK(looked_at.has_value());
      CHECK_MESSAGE(!log.violation(), to_text(log.violation().value_or(Violation{}))
                                          << describe(drawn, operation));
    }
  }
}

TEST_CASE("a better network, or fewer bytes, is never slower unless NCCL chooses otherwise") {
  MESSAGE("seeds from ", first_seed);
  int otherwise = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + 60; ++seed) {
    CAPTURE(seed);
    simcore::RandomStream random(seed, "monotone");
    const Cluster drawn = draw_cluster(random);
    std::vector<Cluster> better(3, drawn);
    better[0].nvlink *= 1.5;
    better[1].nic *= 1.5;
    better[2].latency /= 1.5;
    LoadedCluster before(drawn);
    std::vector<std::unique_ptr<LoadedCluster>> after;
    for (const Cluster& one : better) after.push_back(std::make_unique<LoadedCluster>(one));
    for (int i = 0; i < 6; ++i) {
      const Operation operation = draw_operation(random);
      const auto compare = [&](const CollectiveRow& old, const CollectiveRow& now,
                               const char* what) {
        if (now.time_us <= old.time_us * (1 + 1e-6)) return;
        otherwise += choice(now) != choice(old) ? 1 : 0;
        CHECK_MESSAGE(
            choice(now) != choice(old),
            fmt::format("{}: {:.4f} us became {:.4f} us with {}, {}", describe(drawn, operation),
                        old.time_us, now.time_us, what, choice(now)));
      };
      for (const CollectiveFidelity fidelity :
           {CollectiveFidelity::flow, CollectiveFidelity::chunk}) {
        const bool chunk = fidelity == CollectiveFidelity::chunk;
        if (chunk && static_cast<double>(operation.bytes) > most_chunk_bytes) continue;
        const CollectiveRow old = before.row(operation, fidelity);
        constexpr std::array changes{"a faster NVLink", "faster NICs", "NICs of less latency"};
        for (std::size_t change = 0; change < changes.size(); ++change) {
          compare(old, after[change]->row(operation, fidelity), changes[change]);
        }
        Operation fewer = operation;
        fewer.bytes = operation.bytes / 8192 * 4096;
        if (fewer.bytes > 0) compare(old, before.row(fewer, fidelity), "fewer bytes");
      }
    }
  }
  MESSAGE(otherwise, " were slower with another choice");
}

TEST_CASE("a flow, its messages one by one and NCCL's own expectation agree within their bounds") {
  MESSAGE("seeds from ", first_seed);
  double worst_model = 1;
  for (std::uint64_t seed = first_seed; seed < first_seed + 60; ++seed) {
    CAPTURE(seed);
    simcore::RandomStream random(seed, "fidelities");
    const Cluster drawn = draw_cluster(random);
    LoadedCluster cluster(drawn);
    for (int i = 0; i < 4; ++i) {
      const Operation operation = draw_operation(random);
      if (static_cast<double>(operation.bytes) > most_chunk_bytes) continue;
      const CollectiveRow flow = cluster.row(operation, CollectiveFidelity::flow);
      const CollectiveRow chunk = cluster.row(operation, CollectiveFidelity::chunk);
      const double error = chunk.time_us / flow.time_us - 1;
      CHECK_MESSAGE(std::abs(error) <= 0.10, fmt::format("{}: {}, flow {:.3f} us, chunk {:.3f} us",
                                                         describe(drawn, operation), choice(flow),
                                                         flow.time_us, chunk.time_us));
      if (operation.kind == CollectiveKind::alltoall ||
          operation.kind == CollectiveKind::sendrecv || cluster.cluster().ranks() < 2) {
        continue;  // NCCL has no expectation of messages
      }
      const double model = cluster.row(operation, CollectiveFidelity::model).time_us;
      worst_model = std::max({worst_model, flow.time_us / model, model / flow.time_us});
      // It knows NCCL's constants, not the machine's: NVLink as it ships, no hops of a broadcast.
      CHECK_MESSAGE(std::max(flow.time_us / model, model / flow.time_us) <= 8,
                    fmt::format("{}: {}, flow {:.3f} us, model {:.3f} us",
                                describe(drawn, operation), choice(flow), flow.time_us, model));
    }
  }
  MESSAGE("NCCL's own expectation is off by a factor of up to ", worst_model);
}

}  // namespace shardsim::scenario
