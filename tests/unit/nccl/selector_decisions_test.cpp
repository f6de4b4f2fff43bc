// The model against what NCCL's own host code decides (see data/README.md).
#include <cmath>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/unit/nccl/selector_data.hpp"

namespace shardsim::nccl {
namespace {

/// Rows compared, those that differ, and the first of these in words.
struct Comparison {
  int rows = 0;
  int different = 0;
  std::string first;

  void row(bool same, const auto& describe) {
    ++rows;
    if (same) return;
    if (different++ == 0) first = describe();
  }
};

void hold(const Comparison& comparison, int least_rows) {
  INFO(comparison.first);
  CHECK(comparison.different == 0);
  CHECK(comparison.rows >= least_rows);
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-3 * std::max(1.0, std::abs(b)); }

std::string words(const SystemKey& key) {
  return fmt::format("{} {} {} nodes", std::get<0>(key), std::get<1>(key), std::get<2>(key));
}

int available(const TuningTable& table) {
  int count = 0;
  for (const auto& algorithms : table.cells.values) {
    for (const auto& protocols : algorithms.values) {
      for (const TuningCell& cell : protocols.values) count += cell.bandwidth_gbps > 0 ? 1 : 0;
    }
  }
  return count;
}

}  // namespace

TEST_CASE("collectives get as many channels as NCCL lays") {
  Comparison comparison;
  for (const auto& one : read_systems()) {
    const auto& system = one.second;
    const int channels =
        channel_counts(system.inputs, tuning_constants(system.inputs.communicator.version), {})
            .collective;
    comparison.row(channels == system.collective_channels, [channels, &one] {
      return fmt::format("{}: {} channels, NCCL {}", words(one.first), channels,
                         one.second.collective_channels);
    });
  }
  hold(comparison, 700);
}

TEST_CASE("latencies, bandwidths and threads are NCCL's, and nothing else is available") {
  const auto systems = read_systems();
  const CsvRows rows(selector_data("tuning.csv"));
  std::map<SystemKey, std::pair<TuningTable, int>> tables;
  Comparison comparison;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const SystemKey key = system_key(rows, row);
    const auto [entry, made] = tables.try_emplace(key);
    auto& [table, count] = entry->second;
    if (made) table = tuning_table(systems.at(key).inputs, {});
    ++count;
    const Collective collective = collective_named(rows.text(row, "coll"));
    const Algorithm algorithm = algorithm_named(rows.text(row, "algo"));
    const Protocol protocol = protocol_named(rows.text(row, "proto"));
    const TuningCell& cell = table.cells[collective][algorithm][protocol];
    const bool same = near(cell.latency_us, rows.number(row, "latency_us")) &&
                      near(cell.bandwidth_gbps, rows.number(row, "algbw_GBps")) &&
                      table.most_threads[algorithm][protocol] == rows.integer(row, "maxThreads");
    comparison.row(same, [&] {
      return fmt::format("{} {} {} {}: {} us {} GB/s", words(key), name(collective),
                         name(algorithm), name(protocol), cell.latency_us, cell.bandwidth_gbps);
    });
  }
  for (const auto& one : tables) {
    const auto& [made, expected] = one.second;
    const auto found = available(made);
    comparison.row(found == expected, [&found, &one] {
      return fmt::format("{}: {} pairs available, NCCL {}", words(one.first), found,
                         one.second.second);
    });
  }
  hold(comparison, 5'000);
}

TEST_CASE("algorithm, protocol and expected time are NCCL's for every size") {
  const auto systems = read_systems();
  const CsvRows rows(selector_data("choices.csv"));
  std::map<SystemKey, Selector> selectors;
  Comparison comparison;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const SystemKey key = system_key(rows, row);
    const auto found =
        selectors.try_emplace(key, systems.at(key).inputs, Environment{}, KernelLimits::ignored)
            .first;
    const Operation operation{collective_named(rows.text(row, "coll")),
                              simcore::Bytes{rows.integer(row, "bytes")}};
    const auto choice = found->second.choose(operation);
    REQUIRE(choice.has_value());
    const double expected = rows.number(row, "predicted_us");
    const bool same = choice->algorithm == algorithm_named(rows.text(row, "algo")) &&
                      choice->protocol == protocol_named(rows.text(row, "proto")) &&
                      std::abs(choice->predicted_us - expected) <= 1e-4 * expected + 1e-3;
    comparison.row(same, [&] {
      return fmt::format("{} {} {}: {} {} {} us, NCCL {} {} {}", words(key),
                         name(operation.collective), operation.bytes.count, name(choice->algorithm),
                         name(choice->protocol), choice->predicted_us, rows.text(row, "algo"),
                         rows.text(row, "proto"), expected);
    });
  }
  hold(comparison, 8'000);
}

}  // namespace shardsim::nccl
