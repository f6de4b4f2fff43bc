// Links of README.md and docs/*.md: what they point to is there.
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

namespace fs = std::filesystem;

const fs::path root = SHARDSIM_SOURCE_DIR;

std::string read_text(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Without fenced and indented code, in which brackets mean other things.
std::string without_code(const std::string& text) {
  std::string kept;
  bool fenced = false;
  bool after_blank = true;
  bool indented = false;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) fenced = !fenced;
    const bool deep = line.starts_with("    ");
    indented = deep && (after_blank || indented);
    after_blank = line.empty();
    if (!fenced && !indented) kept += line + '\n';
  }
  return kept;
}

/// The anchor that GitHub makes of a heading.
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || c == '-' || c == '_' || byte >= 0x80) {
      anchor += static_cast<char>(std::tolower(byte));
    } else if (c == ' ') {
      anchor += '-';
    }
  }
  return anchor;
}

std::set<std::string> anchors_of(const fs::path& file) {
  std::set<std::string> anchors;
  std::map<std::string, int> seen;
  std::istringstream in(without_code(read_text(file)));
  for (std::string line; std::getline(in, line);) {
    const std::size_t level = line.find_first_not_of('#');
    if (level == 0 || level == std::string::npos || level > 6 || line[level] != ' ') continue;
    const std::string anchor = anchor_of(line.substr(level + 1));
    const int before = seen[anchor]++;
    anchors.insert(before == 0 ? anchor : anchor + "-" + std::to_string(before));
  }
  return anchors;
}

std::vector<fs::path> pages() {
  std::vector<fs::path> found{root / "README.md", root / "topologies" / "README.md"};
  for (const auto& entry : fs::directory_iterator(root / "docs")) {
    if (entry.path().extension() == ".md") found.push_back(entry.path());
  }
  return found;
}

std::vector<std::string> targets_in(const std::string& text) {
  static const std::regex link(R"(\]\(([^()\s]+)\))");
  std::vector<std::string> targets;
  for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at) {
    targets.push_back((*at)[1]);
  }
  return targets;
}

}  // namespace

TEST_CASE("relative links lead to files, and anchors to headings") {
  int links = 0;
  for (const fs::path& page : pages()) {
    for (const std::string& target : targets_in(without_code(read_text(page)))) {
      if (target.starts_with("http://") || target.starts_with("https://")) continue;
      CAPTURE(page.string());
      CAPTURE(target);
      ++links;
      const std::size_t hash = target.find('#');
      const std::string path = target.substr(0, hash);
      const fs::path file = path.empty() ? page : page.parent_path() / path;
      CHECK(fs::exists(file));
      if (hash == std::string::npos || !fs::exists(file)) continue;
      CHECK(anchors_of(file).contains(target.substr(hash + 1)));
    }
  }
  CHECK(links >= 25);
}

TEST_CASE("a page of the documentation is named by a link, not only in code") {
  static const std::regex span(R"((^|[^\[])`docs/([a-z-]+\.md)`)");
  for (const fs::path& page : pages()) {
    CAPTURE(page.string());
    const std::string text = without_code(read_text(page));
    std::smatch found;
    const bool bare = std::regex_search(text, found, span);
    CAPTURE(bare ? found[2].str() : std::string());
    CHECK_FALSE(bare);
  }
}

TEST_CASE("the README leads to every page of the documentation") {
  const std::string text = read_text(root / "README.md");
  for (const auto& entry : fs::directory_iterator(root / "docs")) {
    if (entry.path().extension() != ".md") continue;
    // Notes on translations belong to the quiz's page, the format of traces to the collectives'.
    const std::string name = entry.path().filename().string();
    if (name == "translation-notes.md" || name == "chunk-trace.md") continue;
    CAPTURE(name);
    CHECK(text.find("(docs/" + name) != std::string::npos);
  }
}
