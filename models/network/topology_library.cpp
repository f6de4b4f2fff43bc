#include "models/network/topology_library.hpp"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "simcore/config/config_node.hpp"
#include "simcore/config/fields.hpp"
#include "simcore/config/yaml_reader.hpp"
#include "simcore/text_file.hpp"

namespace shardsim::network {

namespace fs = std::filesystem;

namespace {

using simcore::ConfigEntry;
using simcore::ConfigNode;

bool is_path(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".yaml");
}

std::optional<fs::path> find_file(std::string_view name, const std::vector<fs::path>& search_path) {
  if (is_path(name)) return fs::path(name);
  for (const fs::path& folder : search_path) {
    fs::path file = folder / fmt::format("{}.yaml", name);
    if (simcore::is_text_file(file)) return file;
  }
  return std::nullopt;
}

void report_unknown(std::string_view name, const std::vector<fs::path>& search_path,
                    const simcore::SourceLocation& where, simcore::Diagnostics& diagnostics) {
  const std::vector<std::string> names = available_topologies(search_path);
  std::string message = fmt::format("there is no topology '{}'", name);
  if (!names.empty()) message += fmt::format("; known are {}", fmt::join(names, ", "));
  diagnostics.error(where, std::move(message), simcore::nearest_spelling(name, names));
}

void report_nothing_to_remove(const ConfigNode& base, const ConfigEntry& change,
                              simcore::Diagnostics& diagnostics) {
  std::vector<std::string> keys;
  for (const ConfigEntry& entry : base.entries()) keys.push_back(entry.key);
  diagnostics.error(
      change.value.where(),
      fmt::format("null removes what is inherited, and there is no '{}' to remove", change.key),
      simcore::nearest_spelling(change.key, keys));
}

/// Puts the keys of `changes` into `base`; maps are merged, null removes, all else replaces. What
/// the merged map lacks is the fault of the changes: of the null that removed it, if there is one,
/// and where no key tells which that is, of the last.
void merge(ConfigNode& base, const ConfigNode& changes, simcore::Diagnostics& diagnostics) {
  base.place_at(changes.where());
  for (const ConfigEntry& change : changes.entries()) {
    if (change.value.is_null()) {
      if (base.remove(change.key, change.value.where())) {
        base.place_at(change.value.where());
      } else {
        report_nothing_to_remove(base, change, diagnostics);
      }
      continue;
    }
    ConfigNode* old = base.find(change.key);
    if (!old) {
      base.entries().push_back(change);
    } else if (old->is_map() && change.value.is_map()) {
      merge(*old, change.value, diagnostics);
    } else {
      *old = change.value;
    }
  }
}

/// The tree of a file with what it extends underneath. `open` holds the files being read.
std::optional<ConfigNode> read_tree(const fs::path& file, const std::vector<fs::path>& search_path,
                                    std::set<std::string>& open,
                                    simcore::Diagnostics& diagnostics) {
  std::optional<ConfigNode> tree = simcore::read_yaml_file(file, diagnostics);
  if (!tree) return std::nullopt;
  const ConfigNode* extends = tree->find("extends");
  if (!extends || !extends->is_scalar()) return tree;
  if (!open.insert(simcore::file_identity(file)).second) {
    diagnostics.error(extends->where(), fmt::format("extends: '{}' extends itself", file.string()));
    return std::nullopt;
  }
  std::vector<fs::path> folders{file.parent_path()};
  folders.insert(folders.end(), search_path.begin(), search_path.end());
  // A path counts from the file that names it; one that is not there, from here.
  const fs::path beside = file.parent_path() / extends->text();
  const bool is_beside = is_path(extends->text()) && simcore::is_text_file(beside);
  const std::optional<fs::path> base_file =
      is_beside ? beside : find_file(extends->text(), folders);
  if (!base_file) {
    report_unknown(extends->text(), folders, extends->where(), diagnostics);
    return std::nullopt;
  }
  std::optional<ConfigNode> base = read_tree(*base_file, search_path, open, diagnostics);
  if (!base || !base->is_map()) return base;  // of what is no map the reader says so, where it is
  merge(*base, *tree, diagnostics);
  return base;
}

/// Nodes that differ say only in what: the keys of the usual node stand underneath.
void complete_other_nodes(ConfigNode& tree, simcore::Diagnostics& diagnostics) {
  const ConfigNode* usual = tree.find("node");
  ConfigNode* others = tree.find("other_nodes");
  if (!usual || !others || !usual->is_map()) return;
  for (ConfigNode& item : others->items()) {
    ConfigNode* node = item.is_map() ? item.find("node") : nullptr;
    if (!node || !node->is_map()) continue;
    ConfigNode whole = *usual;
    merge(whole, *node, diagnostics);
    *node = std::move(whole);
  }
}

}  // namespace

std::optional<Topology> load_topology(std::string_view name_or_path,
                                      const std::vector<fs::path>& search_path,
                                      simcore::Diagnostics& diagnostics,
                                      const simcore::SourceLocation& where) {
  const std::size_t errors = diagnostics.error_count();
  const std::optional<fs::path> file = find_file(name_or_path, search_path);
  if (!file) {
    report_unknown(name_or_path, search_path, where, diagnostics);
    return std::nullopt;
  }
  std::set<std::string> open;
  std::optional<ConfigNode> tree = read_tree(*file, search_path, open, diagnostics);
  if (!tree) return std::nullopt;
  complete_other_nodes(*tree, diagnostics);
  Topology topology{simcore::read_config<TopologySpec>(*tree, diagnostics), *file, {}};
  if (diagnostics.error_count() != errors) return std::nullopt;
  topology.gpu_where = tree->where_value("gpu");
  return topology;
}

std::vector<std::string> available_topologies(const std::vector<fs::path>& search_path) {
  std::set<std::string> names;
  for (const fs::path& folder : search_path) {
    const std::vector<std::string> stems = simcore::file_stems(folder, ".yaml");
    names.insert(stems.begin(), stems.end());
  }
  return {names.begin(), names.end()};
}

}  // namespace shardsim::network
