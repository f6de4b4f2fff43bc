#include "models/network/topology_library.hpp"

#include <fstream>

#include <doctest/doctest.h>

#include "topology_fixture.hpp"

namespace shardsim::network {

namespace fs = std::filesystem;

using testing::shipped;

namespace {

/// A folder of its own that goes with the test.
class Folder {
 public:
  explicit Folder(std::string_view name)
      : path_(fs::temp_directory_path() / ("shardsim-" + std::string(name))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  fs::path write(std::string_view file, std::string_view text) const {
    std::ofstream(path_ / file) << text;
    return path_ / file;
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string failure(std::string_view name, const std::vector<fs::path>& search_path) {
  simcore::Diagnostics diagnostics;
  CHECK_FALSE(load_topology(name, search_path, diagnostics).has_value());
  CHECK(diagnostics.has_errors());
  return simcore::to_text(diagnostics);
}

bool has(const std::string& text, std::string_view part) {
  INFO(text);
  const bool found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

}  // namespace

TEST_CASE("a topology is found by name and by path") {
  simcore::Diagnostics diagnostics;
  const auto by_name = load_topology("dgx-h100", shipped(), diagnostics);
  REQUIRE(by_name);
  const auto by_path = load_topology(by_name->file.string(), {}, diagnostics);
  REQUIRE(by_path);
  CHECK(by_path->spec.name == "dgx-h100");
  CHECK_FALSE(diagnostics.has_errors());
}

TEST_CASE("an unknown name is met with the nearest and with all of them") {
  const std::string said = failure("dgx-h10", shipped());
  CHECK(has(said, "there is no topology 'dgx-h10'"));
  CHECK(has(said, "did you mean 'dgx-h100'?"));
  CHECK(has(said, "gb200-nvl72"));
  CHECK(has(failure("anything", {}), "there is no topology 'anything'"));
  CHECK(has(failure("", shipped()), "there is no topology ''"));
}

TEST_CASE("a missing file, a folder and a file that is no topology") {
  const Folder folder("library");
  failure("./no/such/file.yaml", shipped());
  failure(folder.path().string() + "/", shipped());
  failure(folder.write("empty.yaml", "").string(), {});
  failure(folder.write("list.yaml", "[1, 2]\n").string(), {});
  failure(folder.write("scalar.yaml", "dgx\n").string(), {});
  CHECK(has(failure(folder.write("no-node.yaml", "name: x\ngpu: y\n").string(), {}), "node"));
}

TEST_CASE("the first folder of the search path wins; a file extends one of the others") {
  const Folder folder("search");
  folder.write("dgx-h100.yaml", "name: mine\nextends: dgx-a100\ngpu: my-gpu\n");
  folder.write("derived.yaml",
               "name: derived\nextends: dgx-a100\nnode: {nics: {count: 4}}\n"
               "fabric: {oversubscription: 2}\n");
  std::vector<fs::path> search{folder.path(), shipped()[0]};
  simcore::Diagnostics diagnostics;
  CHECK(load_topology("dgx-h100", search, diagnostics)->spec.gpu == "my-gpu");
  const auto derived = load_topology("derived", search, diagnostics);
  REQUIRE(derived);
  CHECK(derived->spec.node.nics->count == 4);
  CHECK(derived->spec.node.nics->link.bandwidth.bits_per_second() == doctest::Approx(200e9));
  CHECK(derived->spec.fabric.oversubscription == 2);
  CHECK(derived->spec.fabric.nodes_per_leaf == 20);
}

TEST_CASE("files that extend each other in a circle, or what is not there") {
  const Folder folder("circle");
  folder.write("a.yaml", "name: a\nextends: b\n");
  folder.write("b.yaml", "name: b\nextends: a\n");
  folder.write("c.yaml", "name: c\nextends: c\n");
  folder.write("d.yaml", "name: d\nextends: dgx-a10\n");
  CHECK(has(failure("a", {folder.path()}), "extends itself"));
  CHECK(has(failure("c", {folder.path()}), "extends itself"));
  const std::string said = failure("d", {folder.path(), shipped()[0]});
  CHECK(has(said, "d.yaml:2:"));
  CHECK(has(said, "did you mean 'dgx-a100'?"));
}

TEST_CASE("an error in a file names the file that holds it, base or derived") {
  const Folder folder("errors");
  folder.write("base.yaml", "name: base\ngpu: x\nnode: {gpus: none}\nfabric: {kind: none}\n");
  folder.write("top.yaml", "name: top\nextends: base\nfabrik: {}\n");
  const std::string said = failure("top", {folder.path()});
  CHECK(has(said, "base.yaml:3:"));
  CHECK(has(said, "top.yaml:3:"));
}

TEST_CASE("available names are sorted, each once; folders that are missing hold none") {
  const auto names = available_topologies({shipped()[0], shipped()[0], "/no/such/folder"});
  CHECK(std::ranges::is_sorted(names));
  CHECK(std::ranges::adjacent_find(names) == names.end());
  CHECK(names.size() >= 17);
  CHECK(available_topologies({}).empty());
}

}  // namespace shardsim::network
