// Tables that NCCL printed on real machines, digit for digit (see data/README.md).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/unit/nccl/selector_data.hpp"

namespace shardsim::nccl {
namespace {

GraphSummary graph(int pattern, int channels, double intra, double inter, PathType type_intra,
                   PathType type_inter) {
  return {.pattern = pattern,
          .channels = channels,
          .bw_intra_gbps = intra,
          .bw_inter_gbps = inter,
          .type_intra = type_intra,
          .type_inter = type_inter,
          .same_channels = true};
}

TuningInputs machine(NcclVersion version, int nodes, int local, int capability) {
  TuningInputs inputs;
  inputs.communicator.version = version;
  inputs.communicator.nodes = nodes;
  inputs.communicator.ranks = nodes * local;
  inputs.communicator.least_local_ranks = inputs.communicator.most_local_ranks = local;
  inputs.communicator.least_compute_capability = capability;
  inputs.communicator.most_compute_capability = capability;
  return inputs;
}

struct Printed {
  TuningInputs inputs;
  Environment environment;
};

/// The graphs that the same logs report, or that follow from what they print.
Printed printed(std::string_view name) {
  using enum PathType;
  Printed result;
  TuningInputs& inputs = result.inputs;
  if (name == "h200" || name == "h100") {
    inputs = machine(name == "h200" ? NcclVersion{30, 4} : NcclVersion{30, 7}, 1, 8, 90);
    inputs.ring = graph(4, 12, 30, 30, nvl, pix);
    inputs.tree = graph(1, 12, 30, 30, nvl, pix);
    inputs.nvls = graph(5, 8, 40, 60, nvl, pix);
    inputs.communicator.multicast = true;
  } else if (name == "h100x24") {
    inputs = machine({22, 3}, 3, 8, 90);
    inputs.ring = graph(4, 8, 24, 24, nvl, pix);
    inputs.tree = graph(3, 8, 36, 24, nvl, pix);
  } else if (name == "sockets") {
    inputs = machine({29, 7}, 2, 1, 120);
    inputs.ring = graph(4, 2, 1.2, 1.2, loc, phb);
    inputs.tree = graph(3, 2, 2.4, 1.2, loc, phb);
  } else if (name == "one_nic") {
    inputs = machine({20, 5}, 2, 8, 90);
    inputs.ring = graph(4, 1, 20, 20, nvl, phb);
    inputs.tree = graph(3, 1, 20, 20, nvl, phb);
    result.environment.permissions = Permissions();
    for (auto& row : result.environment.permissions.algorithms.values) {
      row.values.fill(Permission::refused);
      row[Algorithm::ring] = Permission::allowed;
    }
  } else if (name == "t4") {
    inputs = machine({8, 3}, 2, 8, 75);
    inputs.ring = graph(4, 1, 9, 9, phb, phb);
    for (auto& row : result.environment.permissions.protocols.values) {
      row.values.fill(Permission::refused);
      row[Protocol::simple] = Permission::allowed;
    }
  } else if (name == "pcie") {
    inputs = machine({13, 4}, 4, 4, 75);
    inputs.ring = graph(4, 1, 3, 3, phb, phb);
  }
  return result;
}

/// With one digit, as the log has it; the data write a plain 0 for what the log leaves out.
std::string digits(double value) { return fmt::format("{:.1f}", static_cast<float>(value)); }
bool same_digits(double value, std::string_view text) {
  return text.empty() || digits(value) == text || (text == "0" && value == 0);
}

}  // namespace

TEST_CASE("tables printed on real machines come out digit for digit") {
  const CsvRows rows(selector_data("printed.csv"));
  int compared = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows.text(row, "kind") != "table") continue;
    const Printed source = printed(rows.text(row, "machine"));
    const TuningTable table = tuning_table(source.inputs, source.environment);
    const TuningCell& cell = table.cells[collective_named(rows.text(row, "coll"))][algorithm_named(
        rows.text(row, "algo"))][protocol_named(rows.text(row, "proto"))];
    CAPTURE(row);
    CAPTURE(digits(cell.latency_us));
    CAPTURE(digits(cell.bandwidth_gbps));
    CHECK(same_digits(cell.latency_us, rows.text(row, "latency_us")));
    CHECK(same_digits(cell.bandwidth_gbps, rows.text(row, "algbw_GBps")));
    ++compared;
  }
  CHECK(compared == 88);
}

TEST_CASE("choices printed on real machines are the same, with their channels and times") {
  const CsvRows rows(selector_data("printed.csv"));
  int compared = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows.text(row, "kind") != "choice") continue;
    const Printed source = printed(rows.text(row, "machine"));
    const Selector selector(source.inputs, source.environment);
    const auto choice = selector.choose(
        {collective_named(rows.text(row, "coll")), simcore::Bytes{rows.integer(row, "bytes")}});
    REQUIRE(choice.has_value());
    CAPTURE(row);
    CHECK(name(choice->algorithm) == rows.text(row, "algo"));
    CHECK(name(choice->protocol) == rows.text(row, "proto"));
    if (!rows.text(row, "last_channel").empty()) {
      CHECK(choice->channels - 1 == rows.integer(row, "last_channel"));
    }
    if (const auto us = rows.number(row, "predicted_us"); us > 0) {
      CHECK(choice->predicted_us == doctest::Approx(us).epsilon(2e-7));
    }
    ++compared;
  }
  CHECK(compared == 17);
}

TEST_CASE("threads of slow rings are halved") {
  const Printed source = printed("sockets");
  const auto threads = tuning_table(source.inputs, source.environment).most_threads;
  CHECK(threads[Algorithm::tree].values == std::array{512, 640, 512});
  CHECK(threads[Algorithm::ring].values == std::array{512, 640, 256});
}

}  // namespace shardsim::nccl
