#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "models/scenario/validation/csv_table.hpp"

namespace shardsim::scenario {
namespace {

std::shared_ptr<const simcore::SourceText> file(std::string text) {
  return std::make_shared<simcore::SourceText>(simcore::SourceText{"runs.csv", std::move(text)});
}

CsvTable read(std::string text) {
  simcore::Diagnostics diagnostics;
  auto table = CsvTable::read(file(std::move(text)), diagnostics);
  REQUIRE_MESSAGE(table, simcore::to_text(diagnostics));
  return std::move(*table);
}

std::string refusal(std::string text) {
  simcore::Diagnostics diagnostics;
  CHECK_FALSE(CsvTable::read(file(std::move(text)), diagnostics));
  return simcore::to_text(diagnostics);
}

bool mentions(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("cells come back as they were written, quotes and line breaks included") {
  const CsvTable table = read("a,b,c\r\n1,\"x, \"\"y\"\"\",\n\n\"two\nlines\",,end");
  CHECK(table.columns() == std::vector<std::string>{"a", "b", "c"});
  REQUIRE(table.rows() == 2);
  CHECK(table.text(0, 0) == "1");
  CHECK(table.text(0, 1) == "x, \"y\"");
  CHECK(table.text(0, 2).empty());
  CHECK(table.text(1, 0) == "two\nlines");
  CHECK(table.text(1, 2) == "end");
}

TEST_CASE("a cell knows its line, also after a line break within quotes") {
  const CsvTable table = read("a,b\n\"1\n2\",3\n4,5\n");
  CHECK(table.where(0, 1).line == 3);
  CHECK(table.where(1, 1).line == 4);
  CHECK(table.where(1, 1).column == 3);
}

TEST_CASE("a byte order mark is no part of the first column") {
  CHECK(read("\xEF\xBB\xBFid\n1\n").column("id") == 0);
}

TEST_CASE("a header alone is a table without rows") {
  CHECK(read("a,b\n").rows() == 0);
  CHECK_FALSE(read("a,b\n").column("c"));
}

TEST_CASE("what is no table is refused with its place") {
  CHECK(mentions(refusal(""), "runs.csv: error: the file is empty"));
  CHECK(mentions(refusal("\n\n"), "empty"));
  CHECK(mentions(refusal("a,b\n1\n"), "runs.csv:2:1: error: expected 2 cells"));
  CHECK(mentions(refusal("a,b\n1,2,3\n"), "found 3"));
  CHECK(mentions(refusal("a,a\n"), "runs.csv:1:3: error: there is a column 'a' already"));
  CHECK(mentions(refusal("a,b\n1,\"2\n"), "runs.csv:2:3: error: this quote is never closed"));
  CHECK(mentions(refusal("a,b\n\"1\"x,2\n"), "runs.csv:2:4"));
  CHECK(mentions(refusal(std::string("a\n\0\n", 4)), "binary"));
  CHECK(mentions(refusal("a\n\xFF\n"), "UTF-8"));
}

TEST_CASE("every uneven row is reported, not only the first") {
  simcore::Diagnostics diagnostics;
  CHECK_FALSE(CsvTable::read(file("a,b\n1\n2,3\n4\n"), diagnostics));
  CHECK(diagnostics.error_count() == 2);
}

TEST_CASE("a table wider than any published one is refused before its names are compared") {
  std::string row(max_csv_columns, ',');
  CHECK(mentions(refusal("a\n" + row + "\n"), "runs.csv:2:1001: error: more than 1000 cells"));
}

}  // namespace
}  // namespace shardsim::scenario
