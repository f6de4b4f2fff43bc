#include "simcore/diagnostics.hpp"

#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "simcore/utf8.hpp"

using namespace shardsim::simcore;

namespace {

SourceLocation at(std::string text, int line, int column) {
  return {std::make_shared<SourceText>(SourceText{"run.yaml", std::move(text)}), line, column};
}

std::string shown(const SourceLocation& where, std::string suggestion = {}) {
  return to_text(Diagnostic{Severity::error, where, "wrong", std::move(suggestion)});
}

}  // namespace

TEST_CASE("a message shows file, line, column, the line and a caret") {
  CHECK(shown(at("a: 1\nb: two\n", 2, 4)) ==
        "run.yaml:2:4: error: wrong\n"
        "    2 | b: two\n"
        "      |    ^\n");
}

TEST_CASE("a suggestion stands behind the caret, or in the message where no line is shown") {
  CHECK(shown(at("strategy: fdsp2\n", 1, 11), "fsdp2") ==
        "run.yaml:1:11: error: wrong\n"
        "    1 | strategy: fdsp2\n"
        "      |           ^ did you mean 'fsdp2'?\n");
  CHECK(shown(at("", 0, 0), "x") == "run.yaml: error: wrong; did you mean 'x'?\n");
  CHECK(shown({}, "x") == "error: wrong; did you mean 'x'?\n");
}

TEST_CASE("columns count characters, so the caret stands right after wide text") {
  CHECK(shown(at("नमस्ते: 1\n", 1, 9)) ==
        "run.yaml:1:9: error: wrong\n"
        "    1 | नमस्ते: 1\n"
        "      |         ^\n");
}

TEST_CASE("tabs are shown as blanks up to the next stop") {
  CHECK(shown(at("a:\tb\n", 1, 4)) ==
        "run.yaml:1:4: error: wrong\n"
        "    1 | a:  b\n"
        "      |     ^\n");
}

TEST_CASE("a column past the end puts the caret behind the line") {
  CHECK(shown(at("ab\r\n", 1, 9)) ==
        "run.yaml:1:9: error: wrong\n"
        "    1 | ab\n"
        "      |   ^\n");
  CHECK(shown(at("", 1, 1)) == "run.yaml:1:1: error: wrong\n    1 | \n      | ^\n");
}

TEST_CASE("a long line is cut around the caret") {
  const std::string text = std::string(500, 'a') + "X" + std::string(500, 'b') + "\n";
  CHECK(shown(at(text, 1, 501)) == "run.yaml:1:501: error: wrong\n    1 | ..." +
                                       std::string(66, 'a') + "X" + std::string(33, 'b') +
                                       "...\n      | " + std::string(69, ' ') + "^\n");
  CHECK(shown(at(text, 1, 1)).contains("\n      | ^\n"));
  CHECK(shown(at(text, 1, 1001)).contains(std::string(99, 'b') + "\n"));
}

TEST_CASE("control characters and broken UTF-8 never reach the terminal") {
  const std::string text = shown(at("a: \x1b[31m\xff\xe2\x80\xae\n", 1, 4));
  CHECK_FALSE(text.contains('\x1b'));
  CHECK_FALSE(text.contains('\xff'));
  CHECK_FALSE(text.contains("\xe2\x80\xae"));
  CHECK(quote("a\x07") == "'a\xEF\xBF\xBD'");
  CHECK(quote(std::string(1000, 'x')) == "'" + std::string(60, 'x') + "...'");
}

TEST_CASE("the collector stores a hundred errors and counts the rest") {
  Diagnostics diagnostics;
  for (int i = 0; i < 250; ++i) diagnostics.error({}, "wrong");
  diagnostics.warning({}, "odd");
  CHECK(diagnostics.has_errors());
  CHECK(diagnostics.error_count() == 250);
  CHECK(diagnostics.all().size() == 101);
  CHECK(to_text(diagnostics).ends_with("warning: odd\n... and 150 more errors\n"));
}

TEST_CASE("warnings alone are no errors") {
  Diagnostics diagnostics;
  diagnostics.warning(at("a\n", 1, 1), "odd");
  CHECK_FALSE(diagnostics.has_errors());
  CHECK(to_text(diagnostics) == "run.yaml:1:1: warning: odd\n    1 | a\n      | ^\n");
}

TEST_CASE("the nearest spelling is found across slips of typing") {
  const std::vector<std::string> names{"fsdp2", "fsdp1", "ddp", "zero1", "full_shard"};
  CHECK(nearest_spelling("fdsp2", names) == "fsdp2");  // swapped
  CHECK(nearest_spelling("FSDP2", names) == "fsdp2");  // case
  CHECK(nearest_spelling("fsdp", names) == "fsdp2");   // the first of two alike
  CHECK(nearest_spelling("full-shrad", names) == "full_shard");
  CHECK(nearest_spelling("dp", names) == "ddp");
  CHECK(nearest_spelling("tensor", names) == "");
  CHECK(nearest_spelling("", names) == "");
  CHECK(nearest_spelling("ddp", {}) == "");
  CHECK(nearest_spelling(std::string(1'000'000, 'x'), names) == "");
  CHECK(nearest_spelling("GIB", {"GB", "GiB"}) == "GiB");
}

TEST_CASE("a name is found by a part of it, and within a longer one") {
  const std::vector<std::string> names{"fsdp2-llama-2-7b-4xdgx-h100", "ddp-llama-2-7b", "tp"};
  CHECK(nearest_name("ddp-lama-2-7b", names) == "ddp-llama-2-7b");  // a spelling comes first
  CHECK(nearest_name("Llama-2-7b", names) == "ddp-llama-2-7b");     // the shortest of two
  CHECK(nearest_name("meta-llama/Llama-2-13b-hf", {"gpt2", "llama-2"}) == "llama-2");
  CHECK(nearest_name("tp8x", names) == "");  // too short to tell anything
  CHECK(nearest_name("", names) == "");
  CHECK(nearest_name("x", {""}) == "");
}

TEST_CASE("a message ends with what was meant, where that is known") {
  CHECK(did_you_mean("fsdp2") == "; did you mean 'fsdp2'?");
  CHECK(did_you_mean("") == "");
  CHECK(did_you_mean("a\x07") == "; did you mean 'a\xEF\xBF\xBD'?");
}

TEST_CASE("what has no place is said in the name of the speaker") {
  const Diagnostic error{Severity::error, {}, "wrong", "x"};
  CHECK(to_text(error, "shardsim run") == "shardsim run: wrong; did you mean 'x'?\n");
  const Diagnostic warning{Severity::warning, {}, "odd", ""};
  CHECK(to_text(warning, "shardsim run") == "shardsim run: warning: odd\n");
  const Diagnostic placed{Severity::error, at("", 0, 0), "wrong", ""};
  CHECK(to_text(placed, "shardsim run") == "run.yaml: error: wrong\n");
}

TEST_CASE("UTF-8 is decoded strictly") {
  CHECK(count_characters("aनम") == 3);
  CHECK(next_utf8("\xF0\x9F\x98\x80", 0).code_point == 0x1F600);
  for (const char* bad : {"\x80", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80",
                          "\xE2\x82", "\xC3(", "\xFF"}) {
    CAPTURE(bad);
    CHECK_FALSE(next_utf8(bad, 0).valid);
    CHECK(next_utf8(bad, 0).length == 1);
  }
}
