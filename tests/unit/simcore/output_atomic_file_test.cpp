#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "simcore/output/atomic_file.hpp"

using namespace shardsim::simcore;
namespace fs = std::filesystem;

namespace {

/// A directory of its own for each test, removed at its end.
class Directory {
 public:
  Directory() {
    std::string name = (fs::temp_directory_path() / "atomic_file_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() { fs::remove_all(path_); }

  fs::path operator/(const char* name) const { return path_ / name; }
  std::ptrdiff_t count() const {
    return std::distance(fs::directory_iterator(path_), fs::directory_iterator());
  }

 private:
  fs::path path_;
};

std::string content(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void put(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

/// Files cannot grow beyond `bytes` while it lives: what a full disk does, without one.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit limited{bytes, before_.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limited) == 0);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

AtomicFile open(const fs::path& path) {
  auto file = AtomicFile::create(path);
  REQUIRE(file.has_value());
  return std::move(*file);
}

}  // namespace

TEST_CASE("the file appears with its whole content at the commit and not before") {
  const Directory directory;
  const fs::path target = directory / "result.json";
  AtomicFile file = open(target);
  file.stream() << "{}" << std::flush;
  CHECK_FALSE(fs::exists(target));
  REQUIRE(file.commit().has_value());
  CHECK(content(target) == "{}");
  CHECK(directory.count() == 1);
}

TEST_CASE("a previous file stays until the commit and is replaced by it") {
  const Directory directory;
  const fs::path target = directory / "result.json";
  put(target, "previous, and longer");
  fs::permissions(target, fs::perms::owner_read | fs::perms::owner_write);
  AtomicFile file = open(target);
  file.stream() << "next";
  CHECK(content(target) == "previous, and longer");
  REQUIRE(file.commit().has_value());
  CHECK(content(target) == "next");
  CHECK(fs::status(target).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("without a commit nothing is left behind") {
  const Directory directory;
  const fs::path target = directory / "result.json";
  put(target, "previous");
  {
    AtomicFile file = open(target);
    file.stream() << "half";
    AtomicFile moved = std::move(file);
    moved.stream() << " of it";
  }
  CHECK(content(target) == "previous");
  CHECK(directory.count() == 1);
}

TEST_CASE("two writers of one target do not disturb each other; the last commit stays") {
  const Directory directory;
  const fs::path target = directory / "result.json";
  AtomicFile first = open(target);
  AtomicFile second = open(target);
  first.stream() << "first";
  second.stream() << "second";
  REQUIRE(second.commit().has_value());
  REQUIRE(first.commit().has_value());
  CHECK(content(target) == "first");
  CHECK(directory.count() == 1);
}

TEST_CASE("content larger than every buffer arrives whole") {
  const Directory directory;
  AtomicFile file = open(directory / "trace.json");
  std::string expected;
  for (int i = 0; i < 100'000; ++i) expected += std::to_string(i) + "\n";
  for (int i = 0; i < 100'000; ++i) file.stream() << i << '\n';
  REQUIRE(file.commit().has_value());
  CHECK(content(directory / "trace.json") == expected);
}

TEST_CASE("a symbolic link is followed") {
  const Directory directory;
  put(directory / "real.json", "previous");
  fs::create_symlink(directory / "real.json", directory / "link.json");
  AtomicFile file = open(directory / "link.json");
  file.stream() << "next";
  REQUIRE(file.commit().has_value());
  CHECK(fs::is_symlink(directory / "link.json"));
  CHECK(content(directory / "real.json") == "next");
}

TEST_CASE("a pipe is written in place, not replaced") {
  const Directory directory;
  const fs::path pipe = directory / "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
  REQUIRE(reader >= 0);
  AtomicFile file = open(pipe);
  file.stream() << "text";
  CHECK(file.commit().has_value());
  std::array<char, 16> received{};
  CHECK(::read(reader, received.data(), received.size()) == 4);
  CHECK(std::string(received.data()) == "text");
  ::close(reader);
  CHECK(fs::is_fifo(pipe));
  CHECK(directory.count() == 1);
}

TEST_CASE("a write that the system refuses is an error that says why, and changes nothing") {
  const Directory directory;
  const fs::path target = directory / "result.json";
  put(target, "previous");
  {
    const FileSizeLimit limit(100'000);
    AtomicFile file = open(target);
    SUBCASE("noticed at the end") { file.stream() << std::string(100'001, 'x'); }
    SUBCASE("noticed in the middle") {
      file.stream() << std::string(1 << 20, 'x') << std::flush << "more";
    }
    const auto result = file.commit();
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error() == "cannot write '" + target.string() + "': File too large");
  }
  CHECK(content(target) == "previous");
  CHECK(directory.count() == 1);
}

TEST_CASE("a target that cannot be written is an error that names it") {
  const Directory directory;
  put(directory / "file", "");
  const auto message = [](const fs::path& target) {
    const auto file = AtomicFile::create(target);
    REQUIRE_FALSE(file.has_value());
    return file.error();
  };
  CHECK(message(directory / "") ==
        "cannot write '" + (directory / "").string() + "': Is a directory");
  CHECK(message(directory / "missing/result.json") ==
        "cannot write '" + (directory / "missing/result.json").string() +
            "': No such file or directory");
  CHECK(message(directory / "file/result.json") ==
        "cannot write '" + (directory / "file/result.json").string() + "': Not a directory");
  CHECK(message("") == "cannot write '': the name is empty");
  if (geteuid() != 0) {
    fs::permissions(directory / "file", fs::perms::owner_read);
    CHECK(message(directory / "file") ==
          "cannot write '" + (directory / "file").string() + "': Permission denied");
  }
}

TEST_CASE("a stream that its writer marked as failed is not committed") {
  const Directory directory;
  AtomicFile file = open(directory / "result.json");
  file.stream().setstate(std::ios::failbit);
  CHECK_FALSE(file.commit().has_value());
  CHECK_FALSE(fs::exists(directory / "result.json"));
}
