#include "simcore/config/fields.hpp"

#include <string>

#include <doctest/doctest.h>

#include "sample_specs.hpp"

using namespace shardsim::simcore;
using sample::problems_of;
using sample::read_spec;
using sample::Spec;
using sample::Strategy;

namespace {

/// A document that is right but for the line given.
std::string with(const std::string& line) { return "cluster: {topology: t}\n" + line + "\n"; }

/// Problem of one line in such a document, which is its second.
std::string problem(const std::string& line) { return problems_of(with(line)); }

struct Hostile {
  const char* line;
  const char* message;
};

}  // namespace

TEST_CASE("every kind of field is read") {
  const Spec spec = read_spec(
      "name: Llama 2 7B\n"
      "cluster:\n"
      "  topology: dgx-h100\n"
      "  nodes: 4\n"
      "  gpus: 2\n"
      "  limit: 80 GiB\n"
      "  nics: [{name: mlx5_0, bandwidth: 200 Gbit/s}, {name: mlx5_1}]\n"
      "strategy: ddp\n"
      "compile: true\n"
      "share: 2.5e-1\n"
      "launch: 3 us\n"
      "peak: 312 TFLOP/s\n"
      "efficiency: 62 %\n"
      "reshard: 4\n"
      "sizes: [3, 1]\n"
      "env: {NCCL_ALGO: Ring, NCCL_DEBUG: 1}\n");
  CHECK(spec.name == "Llama 2 7B");
  CHECK(spec.cluster.topology == "dgx-h100");
  CHECK(spec.cluster.nodes == 4);
  CHECK(spec.cluster.gpus == 2);
  CHECK(spec.cluster.limit == Bytes{80LL << 30});
  REQUIRE(spec.cluster.nics.size() == 2);
  CHECK(spec.cluster.nics[0].bandwidth == BitRate{25e9});
  CHECK(spec.cluster.nics[1].bandwidth == BitRate{50e9});
  CHECK(spec.strategy == Strategy::ddp);
  CHECK(spec.compile);
  CHECK(spec.share == 0.25);
  CHECK(spec.launch == SimTime::microseconds(3));
  CHECK(spec.peak == FlopRate{312e12});
  CHECK(spec.efficiency == Fraction{0.62});
  CHECK(spec.reshard == sample::Reshard{true, 4});
  CHECK(spec.sizes == std::vector<std::int64_t>{3, 1});
  CHECK(spec.env.at("NCCL_DEBUG") == "1");
}

TEST_CASE("what is not given keeps the default of the constructed struct") {
  Spec expected;
  expected.cluster.topology = "t";
  CHECK(read_spec("cluster: {topology: t}") == expected);
}

TEST_CASE("text is taken as written, whatever it looks like") {
  for (const char* text : {"2.27.7", "2.27", "010", "true", "1e3", "yes", ".inf", "50 %"}) {
    CHECK(read_spec(with(std::string("name: ") + text)).name == text);
  }
  CHECK(read_spec(with("name: \"null\"")).name == "null");
  CHECK(read_spec(with("name: ''")).name.empty());
}

TEST_CASE("each kind of bad value has its message and its place") {
  const Hostile cases[] = {
      {"compile: yes", "2:10: compile: expected true or false, found 'yes' -> true"},
      {"compile: off", "2:10: compile: expected true or false, found 'off' -> false"},
      {"compile: True", "2:10: compile: expected true or false, found 'True' -> true"},
      {"compile: 1", "2:10: compile: expected true or false, found '1'"},
      {"compile: \"true\"", "2:10: compile: expected true or false, found the text 'true' -> true"},
      {"compile:", "2:1: compile: expected true or false, found nothing"},
      {"compile: null", "2:10: compile: expected true or false, found nothing"},
      {"strategy: fdsp2",
       "2:11: strategy: expected one of fsdp2, fsdp1, ddp, found 'fdsp2' -> fsdp2"},
      {"strategy: FSDP1",
       "2:11: strategy: expected one of fsdp2, fsdp1, ddp, found 'FSDP1' -> fsdp1"},
      {"strategy: [ddp]", "2:11: strategy: expected one of fsdp2, fsdp1, ddp, found a list"},
      {"share: .inf", "2:8: share: expected a finite number, found '.inf'"},
      {"share: .NaN", "2:8: share: expected a finite number, found '.NaN'"},
      {"share: 1e999", "2:8: share: '1e999' is too large for a number"},
      {"share: half", "2:8: share: expected a number, found 'half'"},
      {"share: 0x1", "2:8: share: expected a number, found '0x1': write 1"},
      {"share: 00.5",
       "2:8: share: expected a number, found '00.5': some readers take a leading zero for octal"},
      {"share: 1", "2:8: share: must be above 0 and below 1, found '1'"},
      {"share: 0", "2:8: share: must be above 0 and below 1, found '0'"},
      {"launch: 5", "2:9: launch: expected a number with a unit, e.g. '2.5 us', found '5'"},
      {"launch: 5 GB",
       "2:9: launch: unknown unit 'GB' in '5 GB'"
       " (units: ps, ns, us, µs, μs, ms, s, min, h)"},
      {"launch: 0 s", "2:9: launch: must be above 0 s, found '0 s'"},
      {"launch: -1 us", "2:9: launch: '-1 us': must not be negative"},
      {"launch: [1 us]", "2:9: launch: expected time, e.g. '2.5 us', found a list"},
      {"efficiency: 101 %", "2:13: efficiency: must be at most 100 %, found '101 %'"},
      {"reshard: maybe", "2:10: reshard: expected true, false or a depth, found 'maybe'"},
      {"sizes: 3", "2:8: sizes: expected a list, e.g. [a, b], found '3'"},
      {"sizes: []", "2:8: sizes: expected a list of at least 1 element, found 0"},
      {"sizes: [1, 101]", "2:12: sizes[1]: must be between 1 and 100, found '101'"},
      {"sizes: [1, , 2]", "2:8: sizes[1]: expected an integer, found nothing"},
      {"env: [a]", "2:6: env: expected a map, e.g. {key: value}, found a list"},
      {"env: {A: [1]}", "2:10: env.A: expected text, found a list"},
      {"name: {a: 1}", "2:7: name: expected text, found a map"},
      {"nmae: x", "2:1: unknown key 'nmae' -> name"},
      {"quux: x",
       "2:1: unknown key 'quux'; the keys here are name, cluster, strategy, compile, share, "
       "launch, peak, efficiency, reshard, sizes, env"},
      {"name: a\nname: b", "3:1: repeated key 'name'; it stands in line 2 already"},
  };
  for (const Hostile& hostile : cases) {
    CAPTURE(hostile.line);
    CHECK(problem(hostile.line) == std::string(hostile.message) + "\n");
  }
}

TEST_CASE("look-alikes of integers are refused with what to write instead") {
  const Hostile cases[] = {
      {"010",
       "expected an integer, found '010': some readers take a leading zero for octal; "
       "write 10 or 8"},
      {"-010",
       "expected an integer, found '-010': some readers take a leading zero for octal; "
       "write -10 or -8"},
      {"09",
       "expected an integer, found '09': some readers take a leading zero for octal; "
       "write 9"},
      {"0o10", "expected an integer, found '0o10': write 8"},
      {"0x10", "expected an integer, found '0x10': write 16"},
      {"0b11", "expected an integer, found '0b11': write 3"},
      {"1e3", "expected an integer, found '1e3': write 1000"},
      {"4.0", "expected an integer, found '4.0': write 4"},
      {"1_000", "expected an integer, found '1_000': write 1000"},
      {"1,000", "expected an integer, found '1,000': write 1000"},
      {"4.5", "expected an integer, found '4.5'"},
      {"four", "expected an integer, found 'four'"},
      {"1:30", "expected an integer, found '1:30'"},
      {"true", "expected an integer, found 'true'"},
      {".inf", "expected an integer, found '.inf'"},
      {"1e99", "expected an integer, found '1e99'"},
      {"\"4\"", "expected an integer without quotes, found the text '4'"},
      {"99999999999999999999", "'99999999999999999999' is out of range for an integer"},
      {"0", "must be between 1 and 1000000, found '0'"},
      {"-3", "must be between 1 and 1000000, found '-3'"},
  };
  for (const Hostile& hostile : cases) {
    CAPTURE(hostile.line);
    CHECK(problems_of("cluster:\n  topology: t\n  nodes: " + std::string(hostile.line)) ==
          "3:10: cluster.nodes: " + std::string(hostile.message) + "\n");
  }
}

TEST_CASE("a narrow integer refuses what does not fit") {
  Diagnostics diagnostics;
  const ConfigNode node = ConfigNode::make_scalar({}, "3000000000", false);
  CHECK(read_config<int>(node, diagnostics) == 0);
  CHECK(read_config<std::uint8_t>(ConfigNode::make_scalar({}, "-1", false), diagnostics) == 0);
  CHECK(sample::problems(diagnostics) ==
        "0:0: must be between -2147483648 and 2147483647, found '3000000000'\n"
        "0:0: must be between 0 and 255, found '-1'\n");
}

TEST_CASE("all problems of a document come in one pass") {
  CHECK(problems_of("nam: x\n"
                    "cluster:\n"
                    "  node: 4\n"
                    "  gpus: 99\n"
                    "  nics:\n"
                    "    - {bandwidth: 400}\n"
                    "    - {name: a, nmae: b}\n"
                    "strategy: dp\n"
                    "share: x\n") ==
        "1:1: unknown key 'nam' -> name\n"
        "3:3: cluster: unknown key 'node' -> nodes\n"
        "4:9: cluster.gpus: must be between 1 and 16, found '99'\n"
        "6:19: cluster.nics[0].bandwidth: expected a number with a unit, e.g. '400 Gbit/s', "
        "found '400'\n"
        "6:7: cluster.nics[0]: missing required key 'name' (Name of the NIC.)\n"
        "7:17: cluster.nics[1]: unknown key 'nmae' -> name\n"
        "3:3: cluster: missing required key 'topology' (A name, or the path of a file.)\n"
        "8:11: strategy: expected one of fsdp2, fsdp1, ddp, found 'dp' -> ddp\n"
        "9:8: share: expected a number, found 'x'\n");
}

TEST_CASE("a document that is no map, and a section that is none") {
  CHECK(problems_of("just text\n") ==
        "1:1: expected a map, e.g. {key: value}, found 'just text'\n");
  CHECK(problems_of("- a\n") == "1:1: expected a map, e.g. {key: value}, found a list\n");
  CHECK(problems_of("~\n") == "1:1: expected a map (write {} for an empty one), found nothing\n");
  CHECK(problems_of("cluster:\n") ==
        "1:1: cluster: expected a map (write {} for an empty one), found nothing\n");
  CHECK(problems_of("cluster: nodes:4\n") ==
        "1:10: cluster: expected a map, with a blank after each ':', found 'nodes:4'\n");
  CHECK(problems_of("name: x\n") == "1:1: missing required key 'cluster' (The machines.)\n");
}

TEST_CASE("a value refused by the YAML reader gives no second message") {
  CHECK(problem("strategy: !!str ddp") == "2:11: tags ('!!str') are not supported\n");
  CHECK(problem("reshard: !!int 3") == "2:10: tags ('!!int') are not supported\n");
}

TEST_CASE("the check of a struct runs when its fields are right, and only then") {
  CHECK(problems_of("cluster: {topology: t, nodes: 1000000}\n") ==
        "1:31: more than a million GPUs\n");
  CHECK(problems_of("cluster: {topology: t, nodes: 1000000, gpus: 17}\n") ==
        "1:46: cluster.gpus: must be between 1 and 16, found '17'\n");
}

TEST_CASE("a printed specification reads back as the same") {
  Spec spec;
  spec.name = "odd: \"name\" #1, [x] \\ é\t";
  spec.cluster.topology = "null";
  spec.cluster.limit = Bytes{123456789};
  spec.cluster.nics = {{"a", BitRate{1.0 / 3}}, {"b c", BitRate{50e9}}};
  spec.strategy = Strategy::ddp;
  spec.share = 0.1;
  spec.efficiency = Fraction{1.0 / 3};
  spec.reshard = {true, 5};
  spec.env = {{"A B", ""}, {"C", "~"}, {"true", "- x"}};
  CAPTURE(print_value(spec));
  CHECK(read_spec(print_value(spec)) == spec);
  CHECK(print_value(Spec{}) ==
        "{name: unnamed, cluster: {topology: \"\", nodes: 1, gpus: 8, nics: []}, strategy: fsdp2, "
        "compile: false, share: 0.5, launch: 2.5 us, peak: 989 TFLOP/s, efficiency: 75 %, "
        "reshard: true, sizes: [1, 2], env: {}}");
}

TEST_CASE("a list or map with one wrong element is wrong, whatever follows it") {
  Diagnostics diagnostics;
  ReadContext context(diagnostics);
  const auto list = read_yaml(sample::source("[x, 1]"), diagnostics);
  const auto map = read_yaml(sample::source("{a: x, b: 1}"), diagnostics);
  REQUIRE(list.has_value());
  REQUIRE(map.has_value());
  CHECK_FALSE(read_value<std::vector<int>>(*list, context).has_value());
  CHECK_FALSE(read_value<std::map<std::string, int>>(*map, context).has_value());
  CHECK(diagnostics.error_count() == 2);
}

TEST_CASE("a type may contain itself") {
  Diagnostics diagnostics;
  const auto root = read_yaml(
      sample::source("{label: a, children: [{label: b, children: [{label: c}]}]}"), diagnostics);
  REQUIRE(root.has_value());
  const auto tree = read_config<sample::Tree>(*root, diagnostics);
  CHECK(tree.children[0].children[0].label == "c");
  CHECK_FALSE(diagnostics.has_errors());
}
