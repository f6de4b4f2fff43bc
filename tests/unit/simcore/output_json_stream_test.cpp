#include <cstdint>
#include <sstream>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "simcore/output/json_stream.hpp"

using namespace shardsim::simcore;

TEST_CASE("pieces become one document with a blank after colons and commas") {
  std::ostringstream out;
  JsonStream json(out);
  json.begin_object();
  json.member("name", "AG0");
  json.member("rank", 3);
  json.member("bytes", std::uint64_t{UINT64_MAX});
  json.member("share", 0.25);
  json.member("last", true);
  json.key("none");
  json.null();
  json.key("ts");
  json.microseconds(SimTime::picoseconds(12'345'678));
  json.key("grid");
  json.begin_array();
  for (const int size : {132, 1, 1}) json.value(size);
  json.end_array();
  json.key("empty");
  json.begin_object();
  json.end_object();
  json.end_object();
  CHECK(json.complete());
  json.flush();
  CHECK(out.str() ==
        R"({"name": "AG0", "rank": 3, "bytes": 18446744073709551615, "share": 0.25, )"
        R"("last": true, "none": null, "ts": 12.345678, "grid": [132, 1, 1], "empty": {}})");
}

TEST_CASE("elements start on their own line where asked") {
  std::ostringstream out;
  JsonStream json(out);
  json.begin_array();
  json.new_line();
  json.value(1);
  json.new_line();
  json.value(2);
  json.value(3);
  json.new_line();
  json.end_array();
  json.flush();
  CHECK(out.str() == "[\n1,\n2, 3\n]");
}

TEST_CASE("output larger than the buffer arrives whole and in order") {
  std::ostringstream out;
  JsonStream json(out);
  json.begin_array();
  for (int i = 0; i < 100'000; ++i) json.value(i);
  json.end_array();
  CHECK(out.str().size() > 100'000);  // not held back until the end
  json.flush();
  const auto parsed = nlohmann::json::parse(out.str());
  REQUIRE(parsed.size() == 100'000);
  CHECK(parsed[99'999] == 99'999);
}
