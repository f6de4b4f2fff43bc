// What the CPU twin does is what fidelity `chunk` says, row by row; and its results are right.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "models/scenario/chunk_work_file.hpp"
#include "tests/reference/cpu_run.hpp"
#include "tests/reference/rank_data.hpp"

namespace shardsim {
namespace {

using cuda::CollectiveKind;

struct Machine {
  const char* topology;
  int nodes;
  int gpus;  ///< of a node
  int channels;
};

struct Case {
  CollectiveKind kind;
  const char* algorithm;
  const char* protocol;
  Machine machine;
  std::vector<std::int64_t> sizes;
  gpu::DataType type = gpu::DataType::fp32;
};

std::string title(const Case& one, std::int64_t size) {
  return fmt::format("collective {} {} {} on {} nodes of {} of {}, {} channels, {} bytes",
                     static_cast<int>(one.kind), one.algorithm, one.protocol, one.machine.nodes,
                     one.machine.gpus, one.machine.topology, one.machine.channels, size);
}

/// The simulator's side of a case.
class Simulated {
 public:
  explicit Simulated(const Case& one) {
    setup_.cluster.topology = one.machine.topology;
    setup_.cluster.nodes = one.machine.nodes;
    setup_.cluster.gpus_per_node = one.machine.gpus;
    setup_.cluster.nccl_version = "2.27.7";
    const std::string channels = std::to_string(one.machine.channels);
    setup_.cluster.env = {{"NCCL_MIN_NCHANNELS", channels}, {"NCCL_MAX_NCHANNELS", channels}};
    if (*one.algorithm != 0) setup_.cluster.env["NCCL_ALGO"] = one.algorithm;
    if (*one.protocol != 0) setup_.cluster.env["NCCL_PROTO"] = one.protocol;
    setup_.settings.kind = one.kind;
    setup_.settings.type = one.type;
    setup_.settings.fidelity = scenario::CollectiveFidelity::chunk;
    const std::string root = SHARDSIM_SOURCE_DIR;
    simcore::Diagnostics diagnostics;
    cluster_ = scenario::load_collective_cluster(
        setup_.cluster, {root + "/topologies", root + "/scenarios"}, diagnostics);
    REQUIRE_MESSAGE(cluster_, simcore::to_text(diagnostics));
    auto run = scenario::CollectiveRun::make(*cluster_);
    REQUIRE(run);
    run_ = std::make_unique<scenario::CollectiveRun>(std::move(*run));
  }

  /// Bytes that are carried of so many; 0 if that is less than an element for each rank.
  std::int64_t carried(std::int64_t size) {
    const auto row = run_->run(setup_.settings, size);
    REQUIRE(row);
    return *row ? (*row)->bytes : 0;
  }

  std::string work_file(std::int64_t size) {
    const auto work = run_->work(setup_.settings, size);
    REQUIRE_MESSAGE(work, work.error());
    return scenario::chunk_work_json(setup_, {{size, *work}});
  }

  std::vector<nccl::TraceRecord> trace(std::int64_t size) {
    std::vector<nccl::TraceRecord> rows;
    const auto done = run_->trace(
        setup_.settings, size,
        [&rows](const nccl::TraceRecord& row, const nccl::TraceTimes&) { rows.push_back(row); });
    REQUIRE_MESSAGE(done, done.error());
    return rows;
  }

 private:
  scenario::ChunkWorkSetup setup_;
  std::unique_ptr<scenario::CollectiveCluster> cluster_;
  std::unique_ptr<scenario::CollectiveRun> run_;
};

/// Logged rows, as the simulator has them.
std::vector<nccl::TraceRecord> records_of(const std::vector<reference::TeamLog>& logs) {
  std::vector<nccl::TraceRecord> rows;
  for (const reference::TeamLog& team : logs) {
    for (const reference::LogRow& row : team.rows) {
      rows.push_back({team.rank, team.channel, team.role, row.step, row.chunk, row.peer, row.bytes,
                      static_cast<nccl::TraceAction>(row.action)});
    }
  }
  return rows;
}

std::vector<nccl::TraceRecord> run_twin(const reference::Work& work, bool in_place) {
  const reference::Plan plan = reference::plan_of(work);
  auto buffers = reference::make_buffers(work, plan, in_place, 7);
  std::vector<reference::RankMemory> memory;
  for (auto& one : buffers) memory.push_back({one.source_begin(), one.target_begin()});
  const auto logs = reference::run_on_cpu(plan, memory);
  for (int rank = 0; rank < work.ranks; ++rank) {
    const auto wrong =
        reference::check_rank(work, plan, rank, buffers[static_cast<std::size_t>(rank)], 7);
    CHECK_MESSAGE(!wrong, wrong.value_or(""));
  }
  return records_of(logs);
}

/// In place and out of place by turns.
void hold(const Case& one) {
  Simulated simulated(one);
  bool in_place = false;
  for (const std::int64_t asked : one.sizes) {
    const std::int64_t size = simulated.carried(asked);
    if (size == 0) continue;
    CAPTURE(title(one, size));
    const auto works = reference::parse_works(simulated.work_file(size));
    REQUIRE_MESSAGE(works, works.error());
    const auto expected = simulated.trace(size);
    const auto logged =
        run_twin(works->front(), in_place && reference::can_be_in_place(works->front().collective));
    CHECK(logged.size() == expected.size());
    const auto differs = std::ranges::mismatch(logged, expected);
    CHECK_MESSAGE(differs.in1 == logged.end(),
                  "row " << differs.in1 - logged.begin() << " of the log is not the simulator's");
    in_place = !in_place;
  }
}

constexpr std::int64_t MiB = 1 << 20;

// None but the first divides evenly into ranks, channels, chunks or lines.
const std::vector<std::int64_t> small_sizes{8, 68, 1000, 33'332, 1'000'004};
const std::vector<std::int64_t> sizes{8, 2'744, 134'460, 6'588'348};

/// 2 to 16 ranks and 1 to 8 channels.
constexpr std::array ring_machines{
    Machine{"virtual-ranks", 1, 2, 8}, Machine{"virtual-ranks", 1, 3, 1},
    Machine{"virtual-ranks", 1, 5, 4}, Machine{"virtual-ranks", 1, 8, 2}};
constexpr std::array tree_machines{Machine{"one-gpu-per-node-100g", 2, 1, 3},
                                   Machine{"one-gpu-per-node-100g", 7, 1, 2},
                                   Machine{"dgx-h100", 3, 4, 2}, Machine{"virtual-ranks", 1, 4, 1}};
constexpr std::array protocols{"LL", "LL128", "Simple"};

}  // namespace

TEST_CASE("rings move the simulator's slices, over protocols, ranks and channels") {
  for (const auto kind :
       {CollectiveKind::all_gather, CollectiveKind::reduce_scatter, CollectiveKind::all_reduce}) {
    for (const char* const protocol : protocols) {
      for (const Machine& machine : ring_machines) hold({kind, "Ring", protocol, machine, sizes});
    }
  }
}

TEST_CASE("sixteen ranks in a ring") {
  for (const char* const protocol : protocols) {
    hold({CollectiveKind::all_reduce, "Ring", protocol, {"virtual-ranks", 1, 16, 5}, small_sizes});
    hold({CollectiveKind::all_gather, "Ring", protocol, {"virtual-ranks", 1, 16, 3}, small_sizes});
    hold({CollectiveKind::reduce_scatter, "Ring", protocol, {"dgx-h100", 2, 8, 8}, small_sizes});
  }
}

TEST_CASE("parts that are no whole words are gathered") {
  for (const char* const protocol : protocols) {
    hold({CollectiveKind::all_gather,
          "Ring",
          protocol,
          {"virtual-ranks", 1, 3, 2},
          {9, 1'001, 99'999, 3'000'003},
          gpu::DataType::fp8});
  }
}

TEST_CASE("chains: broadcast and reduce") {
  for (const auto kind : {CollectiveKind::broadcast, CollectiveKind::reduce}) {
    for (const char* const protocol : protocols) {
      hold({kind, "Ring", protocol, {"virtual-ranks", 1, 6, 2}, sizes});
    }
  }
}

TEST_CASE("double trees move the simulator's slices") {
  for (const char* const protocol : protocols) {
    for (const Machine& machine : tree_machines) {
      hold({CollectiveKind::all_reduce, "Tree", protocol, machine, sizes});
    }
    hold({CollectiveKind::all_reduce,
          "Tree",
          protocol,
          {"one-gpu-per-node-100g", 16, 1, 4},
          small_sizes});
  }
}

TEST_CASE("messages: all-to-all and send-receive, with LL where they are short") {
  for (const auto kind : {CollectiveKind::alltoall, CollectiveKind::sendrecv}) {
    hold({kind, "", "", {"virtual-ranks", 1, 2, 8}, sizes});
    hold({kind, "", "", {"virtual-ranks", 1, 7, 4}, sizes});
    hold({kind, "", "", {"one-gpu-per-node-100g", 5, 1, 2}, sizes});
    hold({kind, "", "", {"dgx-h100", 2, 8, 8}, {100, 40'000, 3'000'000}});
  }
}

TEST_CASE("a quarter of a gigabyte" * doctest::skip()) {
  const std::vector<std::int64_t> large{256 * MiB - 20};
  hold({CollectiveKind::all_reduce, "Ring", "Simple", {"virtual-ranks", 1, 2, 4}, large});
  hold({CollectiveKind::all_gather, "Ring", "LL128", {"virtual-ranks", 1, 2, 3}, large});
  hold({CollectiveKind::all_reduce, "Tree", "Simple", {"one-gpu-per-node-100g", 2, 1, 2}, large});
}

}  // namespace shardsim
