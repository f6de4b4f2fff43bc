#include "simcore/config/schema_writer.hpp"

#include <regex>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "sample_specs.hpp"
#include "simcore/config/reference_writer.hpp"

using namespace shardsim::simcore;
using Json = nlohmann::ordered_json;

namespace {

Json schema() {
  return write_json_schema(schema_of<sample::Spec>(),
                           {"spec.schema.json", "Specification", "A sample."});
}

}  // namespace

TEST_CASE("the schema names its draft and refuses unknown keys") {
  const Json json = schema();
  CHECK(json["$schema"] == "https://json-schema.org/draft/2020-12/schema");
  CHECK(json["$id"] == "spec.schema.json");
  CHECK(json["title"] == "Specification");
  CHECK(json["type"] == "object");
  CHECK(json["additionalProperties"] == false);
  CHECK(json["required"] == Json::array({"cluster"}));
  CHECK(json["properties"].size() == 11);
}

TEST_CASE("a property has description, default and the limits that the reader enforces") {
  const Json properties = schema()["properties"];
  CHECK(properties["compile"] ==
        Json::parse(R"({"type": "boolean", "description": "Whether kernels are fused.",
                        "default": false})"));
  CHECK(properties["strategy"]["enum"] == Json::array({"fsdp2", "fsdp1", "ddp"}));
  CHECK(properties["strategy"]["default"] == "fsdp2");
  CHECK(properties["share"]["exclusiveMinimum"] == 0.0);
  CHECK(properties["share"]["exclusiveMaximum"] == 1.0);
  CHECK(properties["share"]["default"] == 0.5);
  CHECK(properties["launch"]["default"] == "2.5 us");
  CHECK(properties["launch"]["description"] == "Cost of a launch. Must be above 0 s.");
  CHECK(properties["efficiency"]["type"] == Json::array({"string", "number"}));
  CHECK(properties["reshard"]["anyOf"] ==
        Json::parse(R"([{"type": "boolean"}, {"type": "integer"}])"));
  CHECK(properties["reshard"]["default"] == true);
  CHECK(properties["sizes"]["items"] ==
        Json::parse(R"({"type": "integer", "minimum": 1, "maximum": 100})"));
  CHECK(properties["sizes"]["minItems"] == 1);
  CHECK(properties["sizes"]["default"] == Json::array({1, 2}));
  CHECK(properties["env"]["additionalProperties"]["type"] ==
        Json::array({"string", "number", "boolean"}));
  const Json& cluster = properties["cluster"];
  CHECK(cluster["properties"]["nodes"]["minimum"] == 1);
  CHECK(cluster["properties"]["topology"]["examples"] == Json::array({"dgx-h100"}));
  CHECK_FALSE(cluster["properties"]["limit"].contains("default"));
  CHECK(cluster["properties"]["nics"]["items"]["required"] == Json::array({"name"}));
  CHECK(cluster["properties"]["nics"]["description"] == "NICs of a node. Since version 0.2.");
}

TEST_CASE("the pattern of a quantity accepts what the parser accepts") {
  const std::string pattern = schema()["properties"]["launch"]["pattern"];
  const std::regex expression(pattern);
  for (const char* good : {"2.5 us", "3ms", "1e-3 s", "+7 ns", ".5 h", "4 µs"}) {
    CAPTURE(good);
    CHECK(std::regex_match(good, expression));
    CHECK(parse_time(good).has_value());
  }
  for (const char* bad : {"2.5", "us", "-1 us", "1 GB", "1 us x", ""}) {
    CAPTURE(bad);
    CHECK_FALSE(std::regex_match(bad, expression));
    CHECK_FALSE(parse_time(bad).has_value());
  }
}

TEST_CASE("a type that contains itself refers to its first place") {
  const Json json = write_json_schema(schema_of<sample::Tree>(), {});
  const Json inner = json["properties"]["children"]["items"]["properties"]["children"];
  CHECK(inner["items"] == Json::parse(R"({"$ref": "#/properties/children/items"})"));
}

TEST_CASE("the reference page has a row for every key with type, default and meaning") {
  const std::string page = write_reference(schema_of<sample::Spec>(), "Specification", "All keys.");
  CHECK(page.starts_with(
      "# Specification\n"
      "\n"
      "All keys.\n"
      "\n"
      "| Key | Type | Default | Meaning |\n"
      "|---|---|---|---|\n"
      "| `name` | text | `unnamed` | What to call it. |\n"
      "| `strategy` | `fsdp2`, `fsdp1`, `ddp` | `fsdp2` | How the model is sharded \\| replicated. "
      "|\n"
      "| `compile` | true or false | `false` | Whether kernels are fused. |\n"
      "| `share` | number, above 0 and below 1 | `0.5` | A share. |\n"
      "| `launch` | time, above 0 s, e.g. `2.5 us` | `2.5 us` | Cost of a launch. |\n"));
  CHECK(page.contains("| `reshard` | true or false or integer | `true` |"));
  CHECK(
      page.contains("| `sizes` | list of integers, between 1 and 100, at least 1 element | "
                    "`[1, 2]` |"));
  CHECK(page.ends_with(
      "\n## `cluster`\n"
      "\n"
      "The machines. Required.\n"
      "\n"
      "| Key | Type | Default | Meaning |\n"
      "|---|---|---|---|\n"
      "| `cluster.topology` | text, e.g. `dgx-h100` | **required** | A name, or the path of a "
      "file. |\n"
      "| `cluster.nodes` | integer, between 1 and 1000000 | `1` | Number of nodes. |\n"
      "| `cluster.gpus` | integer, between 1 and 16 | `8` | GPUs of a node. |\n"
      "| `cluster.limit` | bytes, at least 1 B, e.g. `80 GiB` | none | Memory limit. |\n"
      "| `cluster.nics` | list of maps, between 0 and 8 elements | `[]` | NICs of a node. Since "
      "version 0.2. |\n"
      "| `cluster.nics[].name` | text | **required** | Name of the NIC. |\n"
      "| `cluster.nics[].bandwidth` | data rate, above 0 B/s, e.g. `400 Gbit/s` | `50 GB/s` | "
      "Nominal bandwidth. |\n"));
}

TEST_CASE("the reference page of a type that contains itself ends") {
  const std::string page = write_reference(schema_of<sample::Tree>(), "Tree", "");
  CHECK(page.contains("`children[].children`"));
  CHECK_FALSE(page.contains("`children[].children[]"));
}
