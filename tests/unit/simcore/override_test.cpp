#include "simcore/config/override.hpp"

#include <initializer_list>
#include <string>

#include <doctest/doctest.h>

#include "sample_specs.hpp"

using namespace shardsim::simcore;
using sample::problems;
using sample::Spec;

namespace {

constexpr const char* base =
    "cluster: {topology: t, nics: [{name: a}, {name: b}]}\nlaunch: 2 us\nsizes: [1, 2]\n";

struct Outcome {
  Spec spec;
  bool applied = true;
  std::string problems;
  std::string text;
};

/// `base` with overrides, read.
Outcome apply(std::initializer_list<const char*> overrides) {
  Diagnostics diagnostics;
  auto root = read_yaml(sample::source(base), diagnostics);
  REQUIRE(root.has_value());
  Outcome outcome;
  for (const char* text : overrides) outcome.applied &= apply_override(*root, text, diagnostics);
  if (outcome.applied) outcome.spec = read_config<Spec>(*root, diagnostics);
  outcome.problems = problems(diagnostics);
  outcome.text = to_text(diagnostics);
  return outcome;
}

}  // namespace

TEST_CASE("an override replaces a value, or adds it") {
  const Outcome outcome =
      apply({"launch=7 us", "cluster.nodes=4", "name=Llama 2 = 7B", "share=0.1"});
  CHECK(outcome.problems == "");
  CHECK(outcome.spec.launch == SimTime::microseconds(7));
  CHECK(outcome.spec.cluster.nodes == 4);
  CHECK(outcome.spec.name == "Llama 2 = 7B");
}

TEST_CASE("lists are reached by index in either form, and grow by one") {
  const Outcome outcome = apply({"cluster.nics[0].name=x", "cluster.nics.1.bandwidth=1 GB/s",
                                 "cluster.nics[2].name=y", "sizes[1]=9"});
  CHECK(outcome.problems == "");
  REQUIRE(outcome.spec.cluster.nics.size() == 3);
  CHECK(outcome.spec.cluster.nics[0].name == "x");
  CHECK(outcome.spec.cluster.nics[1].bandwidth == BitRate{1e9});
  CHECK(outcome.spec.cluster.nics[2].name == "y");
  CHECK(outcome.spec.sizes == std::vector<std::int64_t>{1, 9});
}

TEST_CASE("values may be lists and maps in brackets, and missing maps are made") {
  const Outcome outcome =
      apply({"sizes=[4, 5]", "env.NCCL_ALGO=Ring", "env.\"a.b\"=\"c=d\"", "cluster={topology: u}"});
  CHECK(outcome.problems == "");
  CHECK(outcome.spec.sizes == std::vector<std::int64_t>{4, 5});
  CHECK(outcome.spec.env.at("NCCL_ALGO") == "Ring");
  CHECK(outcome.spec.env.at("a.b") == "c=d");
  CHECK(outcome.spec.cluster.topology == "u");
  CHECK(outcome.spec.cluster.nics.empty());
}

TEST_CASE("a wrong value is shown with the override and a caret under the value") {
  const Outcome outcome = apply({"strategy=fdsp2"});
  CHECK(outcome.applied);
  CHECK(outcome.text ==
        "--set:1:16: error: strategy: expected one of fsdp2, fsdp1, ddp, found 'fdsp2'\n"
        "    1 | --set strategy=fdsp2\n"
        "      |                ^ did you mean 'fsdp2'?\n");
}

TEST_CASE("an unknown key of an override has its caret under that part") {
  CHECK(apply({"cluster.node=4"}).problems == "1:15: cluster: unknown key 'node' -> nodes\n");
  CHECK(apply({"clutser.nodes=4"}).problems == "1:7: unknown key 'clutser' -> cluster\n");
  CHECK(apply({"sizes[0]=1e3"}).problems ==
        "1:16: sizes[0]: expected an integer, found '1e3': write 1000\n");
  CHECK(apply({"cluster.nics[0].nmae=x"}).problems ==
        "1:23: cluster.nics[0]: unknown key 'nmae' -> name\n");
}

TEST_CASE("malformed overrides are errors") {
  const std::pair<const char*, const char*> cases[] = {
      {"", "1:7: expected a key\n"},
      {"launch", "1:13: expected KEY=VALUE\n"},
      {"=3", "1:7: expected a key\n"},
      {"a..b=3", "1:9: expected a key\n"},
      {"launch=",
       "1:14: expected a value after '=', such as 4, 2.5 us, true, [a, b] or {key: value}\n"},
      {"launch= ",
       "1:14: expected a value after '=', such as 4, 2.5 us, true, [a, b] or {key: value}\n"},
      {"sizes[0=3", "1:12: expected an index and ']'\n"},
      {"sizes[0]x=3", "1:15: expected '.', '[' or '='\n"},
      {"\"a=3", "1:7: expected a closing '\"'\n"},
      {"sizes[x]=3", "1:13: 'sizes' is a list: expected an index, found 'x'\n"},
      {"sizes[-1]=3", "1:13: 'sizes' is a list: expected an index, found '-1'\n"},
      {"sizes[7]=3", "1:13: index 7 is past the end of 'sizes', a list of 2\n"},
      {"sizes.a=3", "1:13: 'sizes' is a list: expected an index, found 'a'\n"},
      {"launch.x=3", "1:14: 'launch' is '2 us', not a map\n"},
      {"cluster[0]=3", "1:15: 'cluster' is a map, not a list\n"},
      {"launch=- a", "1:14: write a list as [a, b] and a map as {key: value}\n"},
      {"launch=a: b", "1:14: write a list as [a, b] and a map as {key: value}\n"},
      {"launch=[a", "1:16: expected ',' or ']' in a list in brackets that begins at 1:14\n"},
      {"launch=\"a", "1:16: the text ends within quotes\n"},
      {"launch=*a", "1:14: aliases (*name) are not supported; quote the text if it is none\n"},
      {"launch=\xff", "1:14: byte 0xFF is not UTF-8; save the file as UTF-8\n"},
  };
  for (const auto& [text, message] : cases) {
    CAPTURE(text);
    const Outcome outcome = apply({text});
    CHECK_FALSE(outcome.applied);
    CHECK(outcome.problems == message);
  }
}

TEST_CASE("the option's name is the caller's") {
  Diagnostics diagnostics;
  ConfigNode root = ConfigNode::make_map({});
  CHECK_FALSE(apply_override(root, "a", diagnostics, "--over"));
  CHECK(to_text(diagnostics) ==
        "--over:1:9: error: expected KEY=VALUE\n    1 | --over a\n      |         ^\n");
}
