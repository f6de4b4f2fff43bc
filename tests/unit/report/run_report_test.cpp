// What the report of a run holds, against the run itself.
#include "report/run_report.hpp"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "report/page.hpp"
#include "report/stream_timeline.hpp"
#include "report/topology_picture.hpp"
#include "tests/unit/report/finished_run.hpp"

namespace shardsim::report {
namespace {

using Json = nlohmann::ordered_json;

/// Sum of the gaps whose reason is, or is not, the CPU, in seconds.
double gaps(const Json& streams, bool of_cpu) {
  std::int64_t sum = 0;
  const Json& columns = streams["gaps"];
  for (std::size_t i = 0; i < columns["why"].size(); ++i) {
    if ((columns["why"][i] == "cpu") != of_cpu) continue;
    sum += columns["end_ns"][i].get<std::int64_t>() - columns["start_ns"][i].get<std::int64_t>();
  }
  return static_cast<double>(sum) * 1e-9;
}

std::int64_t operations(const Json& streams) {
  std::int64_t sum = 0;
  for (const Json& stream : streams["streams"]) {
    for (const Json& count : stream["count"]) sum += count.get<std::int64_t>();
  }
  return sum;
}

TEST_CASE("the gaps of the timeline add up to the result's figures") {
  const FinishedRun run("textbook-fsdp2-slow-network");
  const Json streams = stream_timeline(run.output.logs.front());
  CHECK(streams["step_ns"].get<double>() * 1e-9 ==
        doctest::Approx(run.output.result.step.time.seconds()));
  CHECK(gaps(streams, false) ==
        doctest::Approx(run.output.result.step.exposed_communication.seconds()));
  CHECK(gaps(streams, true) == doctest::Approx(run.output.result.step.cpu_bound.seconds()));
  CHECK(streams["operations"] == streams["drawn"]);
}

TEST_CASE("a long timeline is joined below its limit and loses no operation") {
  const FinishedRun run("fsdp2-llama-3-8b-1xdgx-h100");
  const Json whole = stream_timeline(run.output.logs.front());
  const Json joined = stream_timeline(run.output.logs.front(), 200);
  CHECK(whole["drawn"].get<int>() > 1000);
  CHECK(joined["drawn"].get<int>() <= 200);
  CHECK(joined["joined_below_ns"].get<int>() > 0);
  CHECK(operations(joined) == operations(whole));
  for (std::size_t i = 0; i < whole["streams"].size(); ++i) {
    if (whole["streams"][i]["end_ns"].empty()) continue;
    CHECK(joined["streams"][i]["start_ns"].front() == whole["streams"][i]["start_ns"].front());
    CHECK(joined["streams"][i]["end_ns"].back() == whole["streams"][i]["end_ns"].back());
  }
}

TEST_CASE("operations of a stream stand in the order of their starts, within the step") {
  const FinishedRun run("fsdp2-llama-2-7b-4xdgx-h100");
  const Json streams = stream_timeline(run.output.logs.front());
  for (const Json& stream : streams["streams"]) {
    std::int64_t latest = 0;
    for (std::size_t i = 0; i < stream["start_ns"].size(); ++i) {
      const auto start = stream["start_ns"][i].get<std::int64_t>();
      CHECK(start >= latest);
      CHECK(stream["moves_ns"][i].get<std::int64_t>() >= start);
      CHECK(stream["end_ns"][i].get<std::int64_t>() <= streams["step_ns"].get<std::int64_t>());
      CHECK(stream["kind"][i].get<std::size_t>() < streams["kinds"].size());
      CHECK(stream["name_index"][i].get<std::size_t>() < streams["names"].size());
      latest = start;
    }
  }
}

TEST_CASE("the picture of a cluster shows whole nodes and what joins them, with their loads") {
  const FinishedRun run("fsdp2-llama-2-7b-4xdgx-h100");
  const Json picture = topology_picture(run.experiment->graph, run.loads);
  CHECK(picture["nodes"] == 4);
  CHECK(picture["nodes_shown"] == 2);
  std::set<std::string> names;
  for (const Json& device : picture["devices"]) names.insert(device["name"].get<std::string>());
  CHECK(names.contains("node[0].gpu[7]"));
  CHECK(names.contains("leaf[0]"));
  double highest = 0;
  for (const Json& cable : picture["cables"]) {
    CHECK(cable["from"].get<std::size_t>() < picture["devices"].size());
    CHECK(cable["to"].get<std::size_t>() < picture["devices"].size());
    const Json& there = cable["there"];
    CHECK(there["mean"].get<double>() <= there["peak"].get<double>() + 1e-6);
    CHECK(there["mean"].get<double>() <= there["busy"].get<double>() + 1e-6);
    highest = std::max(highest, there["mean"].get<double>());
  }
  CHECK(highest > 0.05);
}

TEST_CASE("the loads of the links are those of the result's busiest") {
  const FinishedRun run("fsdp2-llama-2-7b-4xdgx-h100");
  REQUIRE_FALSE(run.output.result.links.empty());
  const scenario::LinkResult& busiest = run.output.result.links.front();
  const auto links = run.experiment->graph.links_named(busiest.name);
  REQUIRE(links);
  const scenario::LinkLoad& load = run.loads[links->front()];
  CHECK(std::llround(load.bytes) == busiest.bytes.count);
  CHECK(load.busy_fraction == doctest::Approx(busiest.busy_fraction));
  CHECK(load.peak_share == doctest::Approx(busiest.peak_share));
}

TEST_CASE("the node of a slow NIC is in the picture of a large cluster") {
  const FinishedRun run(
      "fsdp2-llama-2-7b-4xdgx-h100",
      {"cluster.nodes=12", "perturb=[{link: 'node[9].nic[0]', bandwidth: 30 %}]"});
  const Json picture = topology_picture(run.experiment->graph, run.loads);
  bool found = false;
  for (const Json& device : picture["devices"]) found |= device["node"] == 9;
  CHECK(found);
}

TEST_CASE("of a tier with many switches some are shown and the rest is counted") {
  const FinishedRun run("textbook-fsdp2", {"cluster.topology=dgx-h100", "cluster.nodes=2"});
  const Json picture = topology_picture(run.experiment->graph, {}, {.switches_per_tier = 3});
  CHECK(picture["switches"].get<int>() > 3);
  CHECK(picture["switches_shown"].get<int>() < picture["switches"].get<int>());
}

TEST_CASE("the report holds the result, the memory timeline as columns and the configuration") {
  const FinishedRun run("fsdp2-llama-3-8b-1xdgx-h100", {"name=</script> & co"});
  const RunReport report{*run.experiment, run.output, run.loads, "shardsim run x.yaml"};
  const Json data = run_report_data(report);
  CHECK(data["schema"] == "shardsim.run_report/1");
  CHECK(data["result"]["scenario"]["name"] == "</script> & co");
  CHECK_FALSE(data["result"]["memory"].contains("timeline"));
  const Json& memory = data["memory_timeline"];
  CHECK(memory["time_s"].size() == run.output.result.memory.timeline.points.size());
  CHECK(memory["kinds"]["activations"].size() == memory["time_s"].size());
  CHECK(data["configuration"]["text"].get<std::string>().find("fsdp2") != std::string::npos);

  const auto page = run_report_page(report);
  CHECK(page.has_value() == has_pages());
  if (!page) return;
  CHECK(page->find("<title>&lt;/script&gt; &amp; co</title>") != std::string::npos);
  CHECK(page->find("</script> & co") == std::string::npos);
}

}  // namespace
}  // namespace shardsim::report
