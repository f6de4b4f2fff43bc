#include "tests/structure/room_rules.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/structure/source_text.hpp"

namespace {

using shardsim::structure::room_of;
using shardsim::structure::source_lines;
using shardsim::structure::violations_in;
using shardsim::structure::violations_under;

using Lines = std::vector<std::string>;

/// True if there is one violation and it says `part`.
bool only_violation_says(const Lines& violations, const std::string& part) {
  CAPTURE(violations.size());
  return violations.size() == 1 && violations.front().find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the source tree keeps its own rules") {
  const std::filesystem::path root = SHARDSIM_SOURCE_DIR;
  int files_read = 0;
  const Lines violations = violations_under(root, files_read);
  for (const std::string& violation : violations) FAIL_CHECK(violation);
  CHECK(files_read > 20);
}

TEST_CASE("a violation anywhere in a tree is found, in the order of the paths") {
  namespace fs = std::filesystem;
  const fs::path root = fs::current_path() / "structure-scratch";
  fs::remove_all(root);
  fs::create_directories(root / "models" / "gpu");
  fs::create_directories(root / "simcore" / "config");
  std::ofstream(root / "simcore" / "config" / "a.cpp") << "#include \"cli/options.hpp\"\n";
  std::ofstream(root / "models" / "gpu" / "b.hpp") << "#include <iostream>\n";
  std::ofstream(root / "models" / "gpu" / "notes.md") << "#include <iostream>\n";
  int files_read = 0;
  const Lines found = violations_under(root, files_read);
  fs::remove_all(root);
  CHECK(files_read == 2);
  REQUIRE(found.size() == 2);
  CHECK(found[0] == "models/gpu/b.hpp:1: a model does not include <iostream>");
  CHECK(found[1] ==
        "simcore/config/a.cpp:1: simcore may not include cli/options.hpp: cli is above it");
}

TEST_CASE("the folder decides which room a file is in") {
  CHECK(room_of("models/network/graph.hpp") == "models/network");
  CHECK(room_of("simcore/config/yaml_reader.cpp") == "simcore");
  CHECK(room_of("cli/main.cpp") == "cli");
  CHECK(room_of("tests/unit/test_main.cpp").empty());
  CHECK(room_of("models/network.hpp").empty());
}

TEST_CASE("a room includes itself and what is below it") {
  CHECK(violations_in("models/cuda/a.cpp",
                      "#include \"models/cuda/program.hpp\"\n"
                      "#include \"models/gpu/kernel_work.hpp\"\n"
                      "#include \"simcore/time.hpp\"\n"
                      "#include <vector>\n")
            .empty());
}

TEST_CASE("an include of a room above is caught, with its line") {
  const Lines found =
      violations_in("simcore/a.hpp", "#pragma once\n\n#include \"models/gpu/kernel_work.hpp\"\n");
  CHECK(only_violation_says(found, "simcore/a.hpp:3: simcore may not include models/gpu"));
  CHECK(only_violation_says(
      violations_in("models/network/a.cpp", "#include \"models/cuda/program.hpp\""),
      "models/cuda is above it"));
  CHECK(only_violation_says(violations_in("models/scenario/a.cpp", "#include <cli/options.hpp>"),
                            "cli is above it"));
  CHECK(only_violation_says(violations_in("models/nccl/a.cpp", "  #  include\t\"quiz/bank.hpp\""),
                            "quiz is above it"));
}

TEST_CASE("an include beside the file or by a relative path is caught: it would hide the room") {
  CHECK(only_violation_says(violations_in("models/gpu/a.cpp", "#include \"kernel_work.hpp\""),
                            "not a path from the root"));
  CHECK(only_violation_says(violations_in("simcore/a.cpp", "#include \"../cli/main.hpp\""),
                            "not a path from the root"));
}

TEST_CASE("a comment or a string is not an include") {
  CHECK(violations_in("simcore/a.cpp",
                      "// #include \"cli/a.hpp\"\n"
                      "/* \n#include \"cli/a.hpp\"\n*/\n"
                      "const char* text = \"#include <cli/a.hpp>\";\n"
                      "const char* raw = R\"(\n#include <cli/a.hpp>\n)\";\n")
            .empty());
}

TEST_CASE("third-party libraries stay behind their doors") {
  CHECK(violations_in("simcore/config/a.cpp", "#include <yaml-cpp/yaml.h>").empty());
  CHECK(only_violation_says(violations_in("simcore/a.cpp", "#include <yaml-cpp/yaml.h>"),
                            "only in simcore/config/"));
  CHECK(violations_in("models/network/a.cpp", "#include <boost/graph/adjacency_list.hpp>").empty());
  CHECK(only_violation_says(violations_in("models/nccl/a.cpp", "#include <boost/graph/copy.hpp>"),
                            "only in models/network/"));
  CHECK(violations_in("cli/a.cpp", "#include <CLI/CLI.hpp>").empty());
  CHECK(only_violation_says(violations_in("models/scenario/a.cpp", "#include <CLI/CLI.hpp>"),
                            "only in cli/"));
  CHECK(violations_in("models/nccl/a.cpp", "#include <pugixml.hpp>").empty());
  CHECK(only_violation_says(violations_in("models/network/a.cpp", "#include <pugixml.hpp>"),
                            "only in models/nccl/"));
  CHECK(violations_in("tests/reference/a.cu", "#include <cuda_runtime.h>").empty());
  CHECK(only_violation_says(violations_in("tests/unit/cuda/a.cpp", "#include <cuda_runtime.h>"),
                            "only in tests/reference/"));
  CHECK(only_violation_says(violations_in("simcore/a.cpp", "#include <doctest/doctest.h>"),
                            "only in tests/"));
}

TEST_CASE("a model that prints, writes a file or reads a clock or the environment is caught") {
  const auto model = [](const std::string& text) {
    return violations_in("models/gpu/a.cpp", text);
  };
  CHECK(only_violation_says(model("#include <iostream>"), "does not include <iostream>"));
  CHECK(only_violation_says(model("#include <chrono>"), "does not include <chrono>"));
  CHECK(only_violation_says(model("#include <fstream>"), "does not include <fstream>"));
  CHECK(only_violation_says(model("int x = 1'000; std::printf(\"%d\", x);"), "'printf'"));
  CHECK(only_violation_says(model("const char* p = std::getenv(\"HOME\");"), "'getenv'"));
  CHECK(only_violation_says(model("auto t = std::chrono::steady_clock::now();"), "'steady_clock'"));
  CHECK(only_violation_says(model("fmt::print(\"x\");"), "'fmt::print'"));
  CHECK(only_violation_says(model("std::random_device seed;"), "'random_device'"));
}

TEST_CASE("other rooms may print, and a model may speak of printing") {
  CHECK(violations_in("cli/a.cpp", "#include <iostream>\nvoid f() { std::cout << 1; }").empty());
  CHECK(violations_in("models/gpu/a.cpp",
                      "// cout\nconst char* s = \"cout\"; /* getenv */ int cout_count;\n")
            .empty());
}

TEST_CASE("a model outside the rooms is caught") {
  CHECK(only_violation_says(violations_in("models/a.cpp", "int x;"), "one of the rooms"));
}

TEST_CASE("blanking keeps lines and columns") {
  const auto lines = source_lines("a /* b\nc */ d \"e\" 'f' 1'000 // g\n");
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].code == "a     ");
  CHECK(lines[1].code == "     d         1'000     ");
  CHECK(lines[1].without_comments == "     d \"e\" 'f' 1'000     ");
  CHECK(lines[2].code.empty());
}

TEST_CASE("an escaped quote does not end a string") {
  const auto lines = source_lines(R"(s("\"cout"); x)");
  CHECK(lines[0].code == "s(        ); x");
}
