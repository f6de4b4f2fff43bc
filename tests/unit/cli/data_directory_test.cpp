#include "cli/data_directory.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;
using shardsim::cli::current_data_search;
using shardsim::cli::DataSearch;
using shardsim::cli::find_data_directory;

/// A folder of its own for one test, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "shardsim-data-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = fs::canonical(name);
  }
  ~ScratchFolder() { fs::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const fs::path& path() const { return path_; }
  fs::path add_data(const fs::path& folder) const {
    fs::create_directories(path_ / folder / "topologies");
    fs::create_directories(path_ / folder / "scenarios");
    return path_ / folder;
  }

 private:
  fs::path path_;
};

bool mentions(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("data is found at share/shardsim beside the executable's folder") {
  const ScratchFolder scratch;
  const fs::path data = scratch.add_data("prefix/share/shardsim");
  const DataSearch search{.option = {},
                          .environment = {},
                          .executable = scratch.path() / "prefix" / "bin" / "shardsim"};
  const auto found = find_data_directory(search);
  REQUIRE(found.has_value());
  CHECK(found->topologies == data / "topologies");
  CHECK(found->scenarios == data / "scenarios");
}

TEST_CASE("links are resolved, so that a build tree names the files of its source tree") {
  const ScratchFolder scratch;
  const fs::path source = scratch.add_data("source");
  const fs::path linked = scratch.path() / "build" / "share" / "shardsim";
  fs::create_directories(linked);
  fs::create_directory_symlink(source / "topologies", linked / "topologies");
  fs::create_directory_symlink(source / "scenarios", linked / "scenarios");
  const auto found =
      find_data_directory({.option = {},
                           .environment = {},
                           .executable = scratch.path() / "build" / "bin" / "shardsim"});
  REQUIRE(found.has_value());
  CHECK(found->topologies == source / "topologies");
}

TEST_CASE("the option goes before the environment, the environment before the executable") {
  const ScratchFolder scratch;
  const fs::path option = scratch.add_data("option");
  const fs::path environment = scratch.add_data("environment");
  scratch.add_data("prefix/share/shardsim");
  DataSearch search{.option = option,
                    .environment = environment,
                    .executable = scratch.path() / "prefix" / "bin" / "shardsim"};
  CHECK(find_data_directory(search).value().topologies == option / "topologies");
  search.option.reset();
  CHECK(find_data_directory(search).value().topologies == environment / "topologies");
}

TEST_CASE("a folder that was named but is not there is an error, not a reason to use another") {
  const ScratchFolder scratch;
  scratch.add_data("prefix/share/shardsim");
  const auto found =
      find_data_directory({.option = scratch.path() / "mistyped",
                           .environment = {},
                           .executable = scratch.path() / "prefix" / "bin" / "shardsim"});
  REQUIRE_FALSE(found.has_value());
  CHECK(mentions(found.error(), "mistyped"));
  CHECK(mentions(found.error(), "--data"));
}

TEST_CASE("a data folder without scenarios is an error that names what is missing") {
  const ScratchFolder scratch;
  fs::create_directories(scratch.path() / "half" / "topologies");
  const auto found =
      find_data_directory({.option = scratch.path() / "half", .environment = {}, .executable = {}});
  REQUIRE_FALSE(found.has_value());
  CHECK(mentions(found.error(), "'scenarios'"));
}

TEST_CASE("an executable whose place is unknown asks for the option") {
  const auto found = find_data_directory({});
  REQUIRE_FALSE(found.has_value());
  CHECK(mentions(found.error(), "--data DIR"));
}

TEST_CASE("the search of this process knows the executable and the environment") {
  setenv("SHARDSIM_DATA", "/somewhere", 1);
  const DataSearch search = current_data_search("given");
  CHECK(search.option == "given");
  CHECK(search.environment == "/somewhere");
  CHECK(search.executable.is_absolute());
  CHECK(fs::exists(search.executable));
  setenv("SHARDSIM_DATA", "", 1);
  CHECK_FALSE(current_data_search({}).environment.has_value());
  unsetenv("SHARDSIM_DATA");
  CHECK_FALSE(current_data_search({}).environment.has_value());
}
