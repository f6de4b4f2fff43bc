// Channels, chunks and messages against NCCL's own arithmetic (see data/README.md).
#include <array>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "models/nccl/pat.hpp"
#include "models/nccl/schedule.hpp"
#include "tests/unit/nccl/selector_data.hpp"

namespace shardsim::nccl {
namespace {

int cell(const CsvRows& rows, std::size_t row, std::string_view column) {
  return static_cast<int>(rows.integer(row, column));
}

TuningInputs inputs_of(const CsvRows& rows, std::size_t row) {
  TuningInputs inputs;
  inputs.communicator.version = newest_version;
  inputs.communicator.ranks = cell(rows, row, "nRanks");
  inputs.communicator.nodes = cell(rows, row, "nNodes");
  inputs.communicator.least_compute_capability = 80;
  inputs.communicator.multicast = true;
  inputs.ring.channels = cell(rows, row, "collChannels") / 2;
  inputs.ring.bw_intra_gbps = cell(rows, row, "slowRing") != 0 ? 12.0 / inputs.ring.channels : 20;
  inputs.nvls.channels = cell(rows, row, "nvlsHeads");
  return inputs;
}

Environment environment_of(const CsvRows& rows, std::size_t row) {
  Environment environment;
  environment.nvls_channels = rows.integer(row, "nvlsChannels");
  environment.nvls_chunk_bytes = rows.integer(row, "nvlsChunkSize");
  environment.nvls_tree_chunk_bytes = rows.integer(row, "nvlsTreeMaxChunk");
  return environment;
}

/// The columns of a row that are to be reproduced.
using Row = std::array<std::int64_t, 12>;

Row computed(const CsvRows& rows, std::size_t row) {
  const Selector selector(inputs_of(rows, row), environment_of(rows, row));
  ScheduledOperation operation;
  operation.choice = {collective_named(rows.text(row, "coll")),
                      algorithm_named(rows.text(row, "algo")),
                      protocol_named(rows.text(row, "proto"))};
  Choice choice;
  choice.algorithm = operation.choice.algorithm;
  choice.protocol = operation.choice.protocol;
  selector.set_channels_and_threads(rows.integer(row, "modelBytes"), choice);
  operation.element_bytes = cell(rows, row, "elemBytes");
  operation.elements = rows.integer(row, "opBytes") / operation.element_bytes;
  operation.most_channels = choice.most_channels;
  ScheduleInputs inputs = selector.schedule_inputs();
  inputs.nvls_all_reduce_gbps = rows.number(row, "nvlsARbw");
  const ChannelRange range = schedule(inputs, std::span(&operation, 1)).front();
  const Chunking& low = range.low.chunking;
  return {choice.most_channels,
          choice.threads,
          range.first,
          range.last,
          range.low.elements,
          range.middle.elements,
          range.high.elements,
          low.chunk_bytes,
          range.middle.chunking.chunk_bytes,
          range.high.chunking.chunk_bytes,
          low.proxy_steps,
          low.slice_bytes};
}

Row expected(const CsvRows& rows, std::size_t row) {
  constexpr std::array<std::string_view, 12> columns{
      "nMaxChannels",  "nThreads",     "channelLo",     "channelHi",
      "countLo",       "countMid",     "countHi",       "chunkBytesLo",
      "chunkBytesMid", "chunkBytesHi", "proxySteps_Lo", "sliceBytes_Lo"};
  Row result{};
  for (std::size_t i = 0; i < columns.size(); ++i) result[i] = rows.integer(row, columns[i]);
  return result;
}

/// "dim0:2msg/2chunk dim1:1msg/1chunk ", as the data write it.
std::string words(const std::vector<PatDimension>& dimensions) {
  std::string text;
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    text +=
        fmt::format("dim{}:{}msg/{}chunk ", d, dimensions[d].messages, dimensions[d].operations);
  }
  return text;
}

}  // namespace

TEST_CASE("channels, shares, chunks, slices and steps of an operation are NCCL's") {
  const CsvRows rows(selector_data("schedules.csv"));
  REQUIRE(rows.size() >= 2'500);
  int different = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (computed(rows, row) == expected(rows, row)) continue;
    if (different++ > 0) continue;
    CAPTURE(row);
    CHECK(computed(rows, row) == expected(rows, row));
  }
  CHECK(different == 0);
}

TEST_CASE("PAT sends NCCL's messages and takes NCCL's number of steps") {
  const CsvRows rows(selector_data("pat.csv"));
  REQUIRE(rows.size() == 72);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const Collective collective =
        rows.text(row, "collective") == "AG" ? Collective::all_gather : Collective::reduce_scatter;
    const PatPlan plan =
        pat_plan(collective, cell(rows, row, "nRanks"), rows.integer(row, "channelBytes"),
                 rows.integer(row, "stepBytes"));
    const auto dimensions = pat_dimensions(plan);
    std::int64_t messages = 0;
    std::int64_t operations = 0;
    for (const PatDimension& dimension : dimensions) {
      messages += dimension.messages;
      operations += dimension.operations;
    }
    CAPTURE(row);
    CHECK(plan.workers == cell(rows, row, "parallelFactor"));
    CHECK(plan.rounds * plan.slots == cell(rows, row, "opSlots"));
    CHECK(operations == cell(rows, row, "chunkOps"));
    CHECK(messages == cell(rows, row, "messages"));
    CHECK(words(dimensions) == rows.text(row, "perDim"));
  }
}

}  // namespace shardsim::nccl
