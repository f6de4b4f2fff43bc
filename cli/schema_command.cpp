#include "cli/schema_command.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/data_directory.hpp"
#include "cli/json_schemas.hpp"
#include "cli/output_target.hpp"
#include "models/gpu/gpu_spec.hpp"
#include "models/network/topology_spec.hpp"
#include "models/scenario/scenario_spec.hpp"
#include "models/scenario/sweep/price_list.hpp"
#include "models/training/model_spec.hpp"
#include "simcore/config/reference_writer.hpp"
#include "simcore/config/schema_writer.hpp"
#include "simcore/text_file.hpp"

namespace shardsim::cli {

namespace {

constexpr int exit_success = 0;
constexpr int exit_bad_input = 2;

struct SchemaArguments {
  std::string name;
  std::string folder;
  std::string data;
};

/// One kind of YAML file.
struct Document {
  const char* name;
  const char* title;
  const char* introduction;
  simcore::TypeSchema type;
};

std::vector<Document> documents() {
  return {
      {"scenario", "Scenario",
       "One experiment: `scenarios/*.yaml`. Keys of sections are set with "
       "`--set section.key=value`.",
       simcore::schema_of<scenario::ScenarioSpec>()},
      {"topology", "Topology",
       "One kind of machine and the fabric between machines: "
       "`topologies/*.yaml`.",
       simcore::schema_of<network::TopologySpec>()},
      {"gpu", "GPU", "One GPU: `topologies/gpus/*.yaml`.", simcore::schema_of<gpu::GpuSpec>()},
      {"model", "Model",
       "One language model: `scenarios/models/*.yaml`, or inline under "
       "`workload.model`.",
       simcore::schema_of<training::ModelSpec>()},
      {"prices", "Prices",
       "What GPUs cost, for `shardsim sweep --prices`: `scenarios/prices/*.yaml`, or a list of "
       "your "
       "own.",
       simcore::schema_of<scenario::PriceList>()},
  };
}

std::vector<std::string> input_names() {
  std::vector<std::string> names;
  for (const Document& one : documents()) names.emplace_back(one.name);
  return names;
}

std::string reference_page() {
  std::string page =
      "# Reference\n\nEvery key of every kind of file, written from the declarations in the code "
      "by `tools/update-docs`.\n\n";
  for (const Document& one : documents()) {
    // One page for all: the titles of the single pages become sections of this one.
    std::string text = simcore::write_reference(one.type, one.title, one.introduction);
    for (std::size_t at = 0; at != std::string::npos;) {
      if (text[at] == '#') text.insert(at, "#");
      at = text.find("\n#", at);
      if (at != std::string::npos) ++at;
    }
    page += text + "\n";
  }
  while (page.ends_with("\n\n")) page.pop_back();
  return page;
}

nlohmann::ordered_json schema_of(const Document& one) {
  return simcore::write_json_schema(
      one.type, {std::string(one.name) + ".schema.json", std::string("shardsim ") + one.name,
                 one.introduction});
}

int write_all(const std::filesystem::path& folder) {
  const auto put = [](const std::filesystem::path& file, const std::string& text) {
    std::error_code failed;
    std::filesystem::create_directories(file.parent_path(), failed);
    const auto done = write_document(file.string(), [&](std::ostream& out) { out << text; });
    if (!done) std::cerr << "shardsim schema: " << done.error() << '\n';
    return done.has_value();
  };
  bool written = put(folder / "docs" / "reference.md", reference_page());
  for (const Document& one : documents()) {
    const std::string file = std::string(one.name) + ".schema.json";
    written &= put(folder / "scenarios" / "schema" / file, schema_of(one).dump(2) + "\n");
  }
  return written ? exit_success : exit_bad_input;
}

/// A schema of what the program writes is a file of the data directory.
int print_output_schema(const std::string& name, const std::string& data_option) {
  constexpr std::size_t most = std::size_t{1} << 20;
  std::optional<std::filesystem::path> data;
  if (!data_option.empty()) data = data_option;
  const auto folder = find_data_folder(current_data_search(data), "schemas");
  if (!folder) {
    std::cerr << "shardsim schema: " << folder.error() << '\n';
    return exit_bad_input;
  }
  const std::filesystem::path file = *folder / (name + ".schema.json");
  const auto text = simcore::read_text_file(file, most);
  if (!text) {
    std::cerr << fmt::format("shardsim schema: '{}' {}\n", file.string(), text.error());
    return exit_bad_input;
  }
  std::cout << *text;
  return exit_success;
}

int print_schema(const SchemaArguments& arguments) {
  for (const Document& one : documents()) {
    if (arguments.name != one.name) continue;
    std::cout << schema_of(one).dump(2) << '\n';
    return exit_success;
  }
  const std::vector<std::string> names = schema_names();
  if (std::ranges::find(names, arguments.name) != names.end()) {
    return print_output_schema(arguments.name, arguments.data);
  }
  const std::string near = simcore::nearest_spelling(arguments.name, names);
  std::cerr << fmt::format("shardsim schema: there is no schema '{}'{}\n", arguments.name,
                           near.empty() ? fmt::format(": expected {}", fmt::join(names, ", "))
                                        : simcore::did_you_mean(near));
  return exit_bad_input;
}

int run(const SchemaArguments& arguments) {
  if (arguments.name.empty() == arguments.folder.empty()) {
    std::cerr << fmt::format("shardsim schema: expected --out DIR or one of {}\n",
                             fmt::join(schema_names(), ", "));
    return exit_bad_input;
  }
  return arguments.name.empty() ? write_all(arguments.folder) : print_schema(arguments);
}

}  // namespace

std::vector<std::string> schema_names() {
  std::vector<std::string> names = input_names();
  for (const char* name : output_schemas) names.emplace_back(name);
  return names;
}

void add_schema_command(CommandLine& line) {
  auto arguments = std::make_shared<SchemaArguments>();
  CLI::App* schema = line.root().add_subcommand(
      "schema", "Print the JSON schema of a file that is read or written");
  schema->add_option("schema", arguments->name, "Which: see above")->type_name(label::schema);
  expect_name(*schema->add_option("--out", arguments->folder,
                                  "Write docs/reference.md and the schemas of all kinds of input, "
                                  "for editors, into this folder"),
              label::folder);
  schema->add_option("--data", arguments->data, "Folder that holds schemas/")
      ->type_name(label::folder);
  line.describe(
      *schema,
      {fmt::format("Of files that are read: {}. Of results: {}. The key `schema` of a result names "
                   "its kind and version.",
                   fmt::join(input_names(), ", "), fmt::join(output_schemas, ", ")),
       {{"What `run --json` writes", {"shardsim schema result"}},
        {"The keys of a scenario, for an editor that completes YAML",
         {"shardsim schema scenario"}}}});
  schema->callback([arguments, &line] { line.choose([arguments] { return run(*arguments); }); });
}

}  // namespace shardsim::cli
