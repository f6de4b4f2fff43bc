#include "simcore/config/json_tree.hpp"

#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "simcore/config/yaml_reader.hpp"

using namespace shardsim::simcore;

namespace {

std::shared_ptr<const SourceText> text(std::string content) {
  return std::make_shared<SourceText>(SourceText{"test", std::move(content)});
}

std::string written(const std::string& yaml) {
  Diagnostics diagnostics;
  const auto tree = read_yaml(text(yaml), diagnostics);
  REQUIRE(tree);
  return to_json_tree(*tree);
}

}  // namespace

TEST_CASE("a tree comes back from JSON as it was") {
  const std::string yaml =
      "a: 80 GiB\nb: ['1', 2, null]\nc: {z: true, y: \"q\"}\nd:\ne: [q, s]\nf: []\n";
  const std::string json = written(yaml);
  CHECK(json == R"({"a":"80 GiB","b":["s",["q","1"],"2",null],"c":{"z":"true","y":["q","q"]},)"
                R"("d":null,"e":["s","q","s"],"f":["s"]})");
  Diagnostics diagnostics;
  const auto tree = read_json_tree(text(json), diagnostics);
  REQUIRE(tree);
  CHECK(to_json_tree(*tree) == json);
  CHECK(tree->find("b")->items()[0].quoted());
  CHECK_FALSE(tree->find("b")->items()[1].quoted());
  CHECK_FALSE(diagnostics.has_errors());
}

TEST_CASE("JSON that is no configuration tree is an error") {
  for (const char* bad : {"", "{", "1", "true", "[]", "[1]", R"(["x",1])", R"(["q"])",
                          R"(["q","a","b"])", R"({"a":[["q",1]]})"}) {
    CAPTURE(bad);
    Diagnostics diagnostics;
    CHECK_FALSE(read_json_tree(text(bad), diagnostics));
    CHECK(diagnostics.error_count() == 1);
  }
}

TEST_CASE("a tree deeper than YAML may be is an error") {
  std::string deep;
  for (int i = 0; i < max_yaml_depth + 2; ++i) deep += R"(["s",)";
  deep += "null";
  for (int i = 0; i < max_yaml_depth + 2; ++i) deep += "]";
  Diagnostics diagnostics;
  CHECK_FALSE(read_json_tree(text(deep), diagnostics));
  CHECK(diagnostics.has_errors());
}
