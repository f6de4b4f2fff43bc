// Writes YAML files as one bundle of configuration trees for the page: {path: tree}.
//
//   pack_files ROOT FILE... > bundle.json        paths are relative to ROOT
//
// Run at build time. A file that is not strict YAML ends it with the usual message and status 2.
#include <filesystem>
#include <iostream>
#include <string>

#include "simcore/config/json_tree.hpp"
#include "simcore/config/yaml_reader.hpp"
#include "simcore/output/json_text.hpp"

int main(int argc, char** argv) {
  using namespace shardsim::simcore;
  if (argc < 3) {
    std::cerr << "usage: pack_files ROOT FILE...\n";
    return 2;
  }
  const std::filesystem::path root(argv[1]);
  Diagnostics diagnostics;
  std::string bundle = "{";
  for (int i = 2; i < argc; ++i) {
    const auto tree = read_yaml_file(root / argv[i], diagnostics);
    if (!tree) continue;
    if (bundle.size() > 1) bundle += ",\n";
    append_json_string(bundle, argv[i]);
    bundle += ":" + to_json_tree(*tree);
  }
  std::cerr << to_text(diagnostics);
  if (diagnostics.has_errors()) return 2;
  std::cout << bundle << "}\n";
  return std::cout.flush() ? 0 : 2;
}
