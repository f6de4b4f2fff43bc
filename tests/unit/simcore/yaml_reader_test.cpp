#include "simcore/config/yaml_reader.hpp"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <doctest/doctest.h>

#include "sample_specs.hpp"
#include "simcore/config/source_positions.hpp"

using namespace shardsim::simcore;
using sample::problems;
using sample::source;

namespace {

std::string syntax_problems(std::string text) {
  Diagnostics diagnostics;
  read_yaml(source(std::move(text)), diagnostics);
  return problems(diagnostics);
}

ConfigNode read(std::string text) {
  Diagnostics diagnostics;
  auto root = read_yaml(source(std::move(text)), diagnostics);
  CHECK(problems(diagnostics) == "");
  REQUIRE(root.has_value());
  return std::move(*root);
}

std::string repeat(std::string_view piece, std::size_t times) {
  std::string text;
  text.reserve(piece.size() * times);
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

/// A file of the temporary folder that goes with the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes)
      : path_(std::filesystem::temp_directory_path() / "shardsim_yaml_reader_test.yaml") {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("maps, lists and scalars keep their text, their order and their place") {
  const ConfigNode root = read("b: 1\na: [x, 'y z']\nc:\n  - d: 2.27\n");
  REQUIRE(root.is_map());
  REQUIRE(root.entries().size() == 3);
  CHECK(root.entries()[0].key == "b");
  CHECK(root.entries()[1].key == "a");
  CHECK(root.find("b")->text() == "1");
  CHECK_FALSE(root.find("b")->quoted());
  const ConfigNode& list = *root.find("a");
  REQUIRE(list.is_sequence());
  CHECK(list.items()[1].text() == "y z");
  CHECK(list.items()[1].quoted());
  CHECK(list.items()[1].where().line == 2);
  CHECK(list.items()[1].where().column == 8);
  const ConfigNode& inner = root.find("c")->items()[0];
  CHECK(inner.find("d")->text() == "2.27");
  CHECK(inner.where_key("d").column == 5);
  CHECK(inner.where_value("d").column == 8);
  CHECK(inner.find("e") == nullptr);
  CHECK(inner.where_value("e").line == 4);
}

TEST_CASE("CR LF, a byte order mark and text in many scripts are fine") {
  const ConfigNode root = read("\xEF\xBB\xBFनाम: π\r\nb: {ü: \"\\u00e9\"}\r\n");
  CHECK(root.find("नाम")->text() == "π");
  CHECK(root.find("नाम")->where().column == 6);
  CHECK(root.find("b")->find("ü")->text() == "é");
  CHECK(root.where_key("नाम").column == 1);
}

TEST_CASE("columns count characters after text of several bytes") {
  CHECK(syntax_problems("नमस्ते: {ü: 1, ü: 2}\n") ==
        "1:16: repeated key 'ü'; it stands in line 1 already\n");
}

TEST_CASE("every problem of the structure is reported in one pass") {
  CHECK(syntax_problems("a: &x 1\nb: {c: 1, c: 2}\na: 2\n<<: {d: 1}\ne: !!python/tuple [1]\n") ==
        "1:4: anchors (&x) are not supported\n"
        "2:11: repeated key 'c'; it stands in line 2 already\n"
        "3:1: repeated key 'a'; it stands in line 1 already\n"
        "4:1: merge keys (<<) are not supported; write the keys out\n"
        "5:4: tags ('!!python/tuple') are not supported\n");
}

TEST_CASE("aliases are refused") {
  CHECK(syntax_problems("a: &x 1\nb: *x\n") ==
        "1:4: anchors (&x) are not supported\n"
        "2:4: aliases (*name) are not supported; write it out\n");
  CHECK(syntax_problems("a: *nowhere\n") ==
        "1:4: aliases (*name) are not supported; quote the text if it is none\n");
}

TEST_CASE("keys that are no text are refused") {
  CHECK(syntax_problems("? [a, b]\n: 1\n") == "1:3: a key must be text, not a list\n");
  CHECK(syntax_problems("{: 1}\n") == "1:2: expected a key before ':'\n");
  CHECK(syntax_problems("~: 1\n") == "1:1: expected a key before ':'\n");
  CHECK(syntax_problems("\"\": 1\n") == "1:1: expected a key before ':'\n");
  CHECK(syntax_problems("a: 1\nb\n") == "2:1: expected ':' after the key 'b'\n");
}

TEST_CASE("a file holds one document, and something in it") {
  CHECK(syntax_problems("") == "0:0: the file is empty\n");
  CHECK(syntax_problems("\n# only a comment\n") == "0:0: the file is empty\n");
  CHECK(syntax_problems("a: 1\n---\nb: 2\n") ==
        "2:1: a second document begins here; a file holds one\n");
  CHECK(syntax_problems("{a: 1} b\n") == "1:8: unexpected text after the end of the document\n");
  CHECK(syntax_problems("---\na: 1\n...\n") == "");
}

TEST_CASE("broken syntax is told with its place") {
  CHECK(syntax_problems("a: [1, 2\n") ==
        "2:1: expected ',' or ']' in a list in brackets that begins at 1:4\n");
  CHECK(syntax_problems("a: {b: 1\n\n") ==
        "3:1: expected ',' or '}' in a map in braces that begins at 1:4\n");
  CHECK(syntax_problems("a: 1]\nb: [1]]\n") == "2:7: closing bracket without an opening one\n");
  CHECK(syntax_problems("a: \"open\nb: 1\n") == "1:4: these quotes are not closed\n");
  CHECK(syntax_problems("a: 'it''s\n") == "1:4: these quotes are not closed\n");
  CHECK(syntax_problems("a: b: c\n").starts_with("1:5: unexpected ':'; check this line"));
  CHECK(syntax_problems("a: 1\n  b: 2\n").starts_with("2:4: unexpected ':'"));
  CHECK(syntax_problems("a:\n  - 1\n - 2\n").starts_with("3:2: unexpected text; each key"));
  CHECK(syntax_problems("a: @b\n").starts_with("1:4: unexpected character"));
  CHECK(syntax_problems("a:\n[1]\n") == "2:1: indent the value deeper than its key\n");
  CHECK(syntax_problems("a: \"\\q\"\n").starts_with("1:7: not valid YAML: unknown escape"));
}

TEST_CASE("tabs that begin a line are refused") {
  CHECK(syntax_problems("a:\n\tb: 1\n") == "2:1: tab in indentation; indent with spaces\n");
  CHECK(syntax_problems("a:\n  \tb: 1\n") == "2:3: tab in indentation; indent with spaces\n");
  CHECK(syntax_problems("a:\tb\n") == "");
}

TEST_CASE("binary files and other encodings are refused") {
  CHECK(syntax_problems(std::string("a: 1\nb: \0 2\n", 11)) ==
        "2:4: NUL byte; this looks like a binary file\n");
  CHECK(syntax_problems("a: \xff\n") == "1:4: byte 0xFF is not UTF-8; save the file as UTF-8\n");
  CHECK(syntax_problems("é: \xc3\n") == "1:4: byte 0xC3 is not UTF-8; save the file as UTF-8\n");
  CHECK(syntax_problems("a: \x1b[31m\n") == "1:4: control character U+001B is not allowed\n");
  CHECK(syntax_problems("a: \x04\n") == "1:4: control character U+0004 is not allowed\n");
  CHECK(syntax_problems("a: 1\rb: 2\n").starts_with("1:5: carriage return"));
  CHECK(syntax_problems("a: \xEF\xBB\xBF 1\n").starts_with("1:4: byte order mark"));
  CHECK(syntax_problems(std::string("\xFF\xFE\x61\0", 4)) ==
        "0:0: the file is UTF-16 or UTF-32; save it as UTF-8\n");
  CHECK(syntax_problems("a: \"\\0\"\n") ==
        "1:4: an escape stands for the control character U+0000\n");
}

TEST_CASE("64 levels are read, 65 are not") {
  CHECK(syntax_problems(repeat("[", 64) + "1" + repeat("]", 64)) == "");
  CHECK(syntax_problems(repeat("[", 65) + "1" + repeat("]", 65)) ==
        "1:65: nested deeper than 64 levels\n");
  CHECK(syntax_problems(repeat("- ", 65) + "1\n") == "1:129: nested deeper than 64 levels\n");
}

TEST_CASE("bombs are refused quickly and without deep recursion") {
  const auto start = std::chrono::steady_clock::now();
  CHECK(syntax_problems(repeat("[", 100'000)).contains("nested deeper than 64 levels"));
  CHECK(syntax_problems(repeat("{a: ", 100'000)).contains("nested deeper than 64 levels"));
  CHECK(syntax_problems(repeat("[", 16'000'000)).contains("more than 2000000 brackets"));
  CHECK(syntax_problems(repeat("- x\n", 300'000)) ==
        "250000:3: more than 250000 values in one file\n");
  std::string laughs = "a: &a [x, x]\n";
  for (char c = 'b'; c < 'z'; ++c) {
    laughs += std::string(1, c) + ": &" + c + " [*" + char(c - 1) + ", *" + char(c - 1) + "]\n";
  }
  CHECK(syntax_problems(laughs).contains("aliases (*name) are not supported"));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  CHECK(taken.count() < 60);  // each takes a fraction of a second; a blow-up takes for ever
}

TEST_CASE("files that are no files, or too large, are errors") {
  Diagnostics diagnostics;
  CHECK_FALSE(read_yaml_file("/nonexistent/a.yaml", diagnostics).has_value());
  CHECK(to_text(diagnostics) ==
        "/nonexistent/a.yaml: error: cannot be opened: No such file or directory\n");
  Diagnostics folder;
  CHECK_FALSE(read_yaml_file(SHARDSIM_SOURCE_DIR, folder).has_value());
  CHECK(to_text(folder).ends_with(": error: is a directory\n"));
  const TemporaryFile large(std::string(max_yaml_bytes + 1, '#'));
  Diagnostics too_large;
  CHECK_FALSE(read_yaml_file(large.path(), too_large).has_value());
  CHECK(to_text(too_large).ends_with(": error: larger than 16 MiB\n"));
  Diagnostics endless;
  CHECK_FALSE(read_yaml_file("/dev/zero", endless).has_value());
  CHECK(endless.error_count() == 1);
}

TEST_CASE("a file is named in messages as the caller named it") {
  const TemporaryFile file("a: 1\na: 2\n");
  Diagnostics diagnostics;
  CHECK(read_yaml_file(file.path(), diagnostics).has_value());
  CHECK(to_text(diagnostics).starts_with(file.path().string() + ":2:1: error: repeated key 'a'"));
}

TEST_CASE("positions agree with counting from the start of the line") {
  const std::string text = repeat("aé\n\nπ नम: x\n", 400);
  const SourcePositions positions(source(text));
  int line = 1;
  int column = 1;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins_character = (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
    if (!begins_character) continue;
    const SourceLocation where = positions.at(at);
    REQUIRE(where.line == line);
    REQUIRE(where.column == column);
    ++column;
    if (text[at] == '\n') {
      ++line;
      column = 1;
    }
  }
}
