#include "cli/schema_command.hpp"

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>

#include <nlohmann/json.hpp>

#include "cli/output_target.hpp"
#include "models/gpu/gpu_spec.hpp"
#include "models/network/topology_spec.hpp"
#include "models/scenario/scenario_spec.hpp"
#include "models/scenario/sweep/price_list.hpp"
#include "models/training/model_spec.hpp"
#include "simcore/config/reference_writer.hpp"
#include "simcore/config/schema_writer.hpp"

namespace shardsim::cli {

namespace {

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
    const auto schema = simcore::write_json_schema(
        one.type, {file, std::string("shardsim ") + one.name, one.introduction});
    written &= put(folder / "scenarios" / "schema" / file, schema.dump(2) + "\n");
  }
  return written ? 0 : 2;
}

}  // namespace

void add_schema_command(CLI::App& app, std::function<int()>& action) {
  auto folder = std::make_shared<std::string>();
  CLI::App* schema =
      app.add_subcommand("schema", "Write JSON schemas for editors and the reference page");
  schema->add_option("--out", *folder, "Folder to write docs/ and scenarios/schema/ into")
      ->required();
  schema->callback([folder, &action] { action = [folder] { return write_all(*folder); }; });
}

}  // namespace shardsim::cli
