#include "web/wasm/bundled_files.hpp"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "simcore/text_file.hpp"

namespace shardsim::web {

namespace {

std::map<std::string, std::string>& files() {
  static std::map<std::string, std::string> by_path;
  return by_path;
}

std::string plain(const std::filesystem::path& path) {
  return path.lexically_normal().generic_string();
}

}  // namespace

bool add_bundle(std::string_view bundle) {
  const auto json = nlohmann::ordered_json::parse(bundle, nullptr, false);
  if (!json.is_object()) return false;
  for (const auto& [path, tree] : json.items()) files()[plain(path)] = tree.dump();
  return true;
}

}  // namespace shardsim::web

namespace shardsim::simcore {

std::expected<std::string, std::string> read_text_file(const std::filesystem::path& path,
                                                       std::size_t limit) {
  const auto found = web::files().find(web::plain(path));
  if (found == web::files().end()) return std::unexpected("is not part of this page");
  return found->second.substr(0, limit + 1);
}

bool is_text_file(const std::filesystem::path& path) {
  return web::files().contains(web::plain(path));
}

std::vector<std::string> file_stems(const std::filesystem::path& folder,
                                    std::string_view extension) {
  std::vector<std::string> stems;
  const std::string wanted = web::plain(folder);
  for (const auto& [name, text] : web::files()) {
    const std::filesystem::path path(name);
    if (path.extension() == extension && path.parent_path().generic_string() == wanted) {
      stems.push_back(path.stem().string());
    }
  }
  std::ranges::sort(stems);  // "a-b" comes before "a.yaml", but after "a"
  return stems;
}

std::string file_identity(const std::filesystem::path& path) { return web::plain(path); }

}  // namespace shardsim::simcore
