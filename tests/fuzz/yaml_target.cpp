// Any YAML: the strict reader, and the tree as JSON and back.
#include "simcore/config/json_tree.hpp"
#include "simcore/config/yaml_reader.hpp"
#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

void read_yaml_text(std::string_view input) {
  simcore::Diagnostics diagnostics;
  const auto root = simcore::read_yaml(source_of(input), diagnostics);
  check_messages(!root, diagnostics);
  if (!root || diagnostics.has_errors()) return;
  const std::string json = simcore::to_json_tree(*root);
  simcore::Diagnostics problems;
  const auto again = simcore::read_json_tree(source_of(json), problems);
  require(again && !problems.has_errors(), "a tree as JSON cannot be read again", problems);
  require(simcore::to_json_tree(*again) == json, "a tree changed on its way through JSON");
}

}  // namespace shardsim::fuzz
