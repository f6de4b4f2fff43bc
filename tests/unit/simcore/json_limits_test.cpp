// JSON from outside is measured before it is parsed.
#include "simcore/json_limits.hpp"

#include <string>

#include <doctest/doctest.h>

namespace shardsim::simcore {

namespace {

std::string message_of(const std::optional<JsonProblem>& problem) {
  return problem ? problem->message : "";
}

std::string repeated(const std::string& text, int times) {
  std::string made;
  for (int i = 0; i < times; ++i) made += text;
  return made;
}

}  // namespace

TEST_CASE("JSON of a usual size is within the limits, whatever its strings hold") {
  CHECK_FALSE(json_too_large(R"({"a": [1, 2, {"b": null}], "c": "x"})"));
  CHECK_FALSE(json_too_large("\"" + repeated("[{:,\\\"", 1'000'000) + "\""));
  CHECK_FALSE(json_too_large(""));
  CHECK_FALSE(json_too_large("no JSON at all ]]]}"));
}

TEST_CASE("limits hold exactly, and say where they are passed") {
  const JsonLimits limits{.values = 4, .keys = 2, .depth = 2};
  CHECK_FALSE(json_too_large("[1, 2, 3]", limits));
  CHECK(message_of(json_too_large("[1, 2, 3, 4]", limits)) == "more than 4 values");
  CHECK_FALSE(json_too_large(R"({"a": 1, "b": 2})", limits));
  CHECK(message_of(json_too_large(R"({"a": {"b": {}}})", limits)) == "nested deeper than 2 levels");
  const auto keys = json_too_large(R"({"a":1,"b":2,"c":3})", {.values = 9, .keys = 2, .depth = 2});
  CHECK(message_of(keys) == "more than 2 keys");
  CHECK(keys->offset == 16);
}

TEST_CASE("broken JSON has a place and a reason") {
  CHECK_FALSE(json_syntax_problem(R"({"a": [1, 2.5e3, true]})"));
  const auto problem = json_syntax_problem("{\"a\": [1, x]}");
  REQUIRE(problem.has_value());
  CHECK(problem->offset == 10);
  CHECK(problem->message.starts_with("not valid JSON: syntax error"));
  CHECK(json_syntax_problem("").has_value());
  CHECK(json_syntax_problem("{} {}").has_value());
}

}  // namespace shardsim::simcore
