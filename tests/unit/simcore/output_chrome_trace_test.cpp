#include <regex>
#include <sstream>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "simcore/output/chrome_trace.hpp"

using namespace shardsim::simcore;
using nlohmann::json;

namespace {

SimTime ps(std::int64_t count) { return SimTime::picoseconds(count); }

/// What `write` puts into a trace, as text.
template <class Write>
std::string trace_of(Write&& write) {
  std::ostringstream out;
  ChromeTraceWriter trace(out);
  write(trace);
  trace.finish();
  return out.str();
}

/// The events of the trace.
template <class Write>
json events_of(Write&& write) {
  return json::parse(trace_of(write)).at("traceEvents");
}

}  // namespace

TEST_CASE("a trace without events is complete") {
  CHECK(json::parse(trace_of([](ChromeTraceWriter&) {})) == json{{"traceEvents", json::array()}});
}

TEST_CASE("header members come before the events, in the order given") {
  const std::string text = trace_of([](ChromeTraceWriter& trace) {
    trace.header("schemaVersion").value(1);
    JsonStream& devices = trace.header("deviceProperties");
    devices.begin_array();
    devices.begin_object();
    devices.member("id", 0);
    devices.member("totalGlobalMem", std::int64_t{85'899'345'920});
    devices.end_object();
    devices.end_array();
    JsonStream& distributed = trace.header("distributedInfo");
    distributed.begin_object();
    distributed.member("backend", "nccl");
    distributed.member("rank", 0);
    distributed.member("world_size", 32);
    distributed.end_object();
    trace.process_name(0, "python");
  });
  const auto parsed = nlohmann::ordered_json::parse(text);
  std::string keys;
  for (const auto& [key, value] : parsed.items()) keys += key + " ";
  CHECK(keys == "schemaVersion deviceProperties distributedInfo traceEvents ");
  CHECK(parsed["deviceProperties"][0]["totalGlobalMem"] == 85'899'345'920);
  // Holistic Trace Analysis finds a trace's rank with this expression.
  std::smatch match;
  REQUIRE(std::regex_search(text, match, std::regex("\"rank\":\\s+(\\d+)")));
  CHECK(match[1] == "0");
}

TEST_CASE("a slice says where, when and how long, exactly") {
  const std::string text = trace_of([](ChromeTraceWriter& trace) {
    trace.slice({{3, 7}, "AG0", "kernel", ps(12'345'678), ps(1'000'001)}, [](JsonStream& args) {
      args.member("stream", 7);
      args.member("Collective name", "_allgather_base");
      args.member("est. achieved occupancy %", 37.5);
      args.key("grid");
      args.begin_array();
      args.value(24);
      args.value(1);
      args.end_array();
    });
  });
  CHECK(text ==
        "{\n\"traceEvents\": [\n"
        R"({"ph": "X", "cat": "kernel", "name": "AG0", "pid": 3, "tid": 7, )"
        R"("ts": 12.345678, "dur": 1.000001, "args": {"stream": 7, )"
        R"("Collective name": "_allgather_base", "est. achieved occupancy %": 37.5, )"
        R"("grid": [24, 1]}})"
        "\n]\n}");
}

TEST_CASE("names of any bytes leave the trace readable") {
  const json events = events_of([](ChromeTraceWriter& trace) {
    trace.slice({{0, 0}, "void f<\"x\">\\\n", "kernel", ps(0), ps(1)});
    trace.thread_name({0, 1}, "stream \xff");
  });
  CHECK(events[0]["name"] == "void f<\"x\">\\\n");
  CHECK(events[1]["args"]["name"] == "stream \uFFFD");
}

TEST_CASE(
    "an arrow's ends share id, category and name, and its head binds to the enclosing slice") {
  const json events = events_of([](ChromeTraceWriter& trace) {
    trace.flow_start({15, {0, 1}, ps(1'000'000)});
    trace.flow_finish({15, {3, 7}, ps(2'000'000)});
  });
  CHECK(events[0] == json{{"ph", "s"},
                          {"id", 15},
                          {"pid", 0},
                          {"tid", 1},
                          {"ts", 1.0},
                          {"cat", "ac2g"},
                          {"name", "ac2g"}});
  CHECK(events[1] == json{{"ph", "f"},
                          {"id", 15},
                          {"pid", 3},
                          {"tid", 7},
                          {"ts", 2.0},
                          {"cat", "ac2g"},
                          {"name", "ac2g"},
                          {"bp", "e"}});
}

TEST_CASE("metadata names and orders processes and threads") {
  const json events = events_of([](ChromeTraceWriter& trace) {
    trace.process_name(2, "rank 2");
    trace.process_labels(2, "GPU 2");
    trace.process_sort_index(2, 5);
    trace.thread_name({2, 7}, "compute");
    trace.thread_sort_index({2, 7}, 1);
  });
  const auto metadata = [](const char* name, int thread, const json& arguments) {
    return json{{"ph", "M"}, {"name", name}, {"pid", 2}, {"tid", thread}, {"args", arguments}};
  };
  CHECK(events[0] == metadata("process_name", 0, {{"name", "rank 2"}}));
  CHECK(events[1] == metadata("process_labels", 0, {{"labels", "GPU 2"}}));
  CHECK(events[2] == metadata("process_sort_index", 0, {{"sort_index", 5}}));
  CHECK(events[3] == metadata("thread_name", 7, {{"name", "compute"}}));
  CHECK(events[4] == metadata("thread_sort_index", 7, {{"sort_index", 1}}));
}

TEST_CASE("counters and instants") {
  const json events = events_of([](ChromeTraceWriter& trace) {
    trace.counter(1, "memory", ps(500'000), [](JsonStream& series) {
      series.member("allocated", std::int64_t{1} << 40);
      series.member("cached", 0);
    });
    trace.instant({{1, 2}, "retry", "allocator", ps(700'000), TraceScope::process});
    trace.instant({{1, 2}, "oom", "allocator", ps(700'000)},
                  [](JsonStream& args) { args.member("requested", 512); });
  });
  CHECK(events[0] == json{{"ph", "C"},
                          {"name", "memory"},
                          {"pid", 1},
                          {"tid", 0},
                          {"ts", 0.5},
                          {"args", {{"allocated", std::int64_t{1} << 40}, {"cached", 0}}}});
  CHECK(events[1] == json{{"ph", "i"},
                          {"cat", "allocator"},
                          {"s", "p"},
                          {"name", "retry"},
                          {"pid", 1},
                          {"tid", 2},
                          {"ts", 0.7}});
  CHECK(events[2]["s"] == "t");
  CHECK(events[2]["args"] == json{{"requested", 512}});
}

TEST_CASE("many events stream out while they are written") {
  std::ostringstream out;
  ChromeTraceWriter trace(out);
  for (std::int64_t i = 0; i < 10'000; ++i) {
    trace.slice({{0, 0}, "F", "kernel", ps(i * 1'000), ps(1'000)});
  }
  CHECK(out.str().size() > 500'000);
  trace.finish();
  CHECK(json::parse(out.str())["traceEvents"].size() == 10'000);
}
