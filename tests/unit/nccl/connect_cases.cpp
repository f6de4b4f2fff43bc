#include "tests/unit/nccl/connect_cases.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace shardsim::nccl {
namespace {

namespace fs = std::filesystem;
const fs::path root = SHARDSIM_SOURCE_DIR;

std::vector<int> numbers(std::istream& line) {
  return {std::istream_iterator<int>(line), std::istream_iterator<int>()};
}

/// "UP:DOWN/DOWN": every number in it.
std::vector<int> numbers_of(std::string entry) {
  std::replace_if(entry.begin(), entry.end(), [](char c) { return c == ':' || c == '/'; }, ' ');
  std::istringstream text(entry);
  return numbers(text);
}

ChannelGraph& graph_named(ConnectCase& made, const std::string& name) {
  if (name == "ring") return made.ring;
  return name == "tree" ? made.tree : made.nvls;
}

ConnectCase begin_case(std::istream& line, const std::string& machine) {
  ConnectCase made;
  made.machine = machine;
  std::string word;
  int ring_pattern = 0;
  int tree_pattern = 0;
  line >> made.nodes >> made.per_node >> word >> ring_pattern >> made.ring.cross_nic >> word >>
      tree_pattern;
  made.ring.pattern = static_cast<ChannelPattern>(ring_pattern);
  made.tree.pattern = static_cast<ChannelPattern>(tree_pattern);
  made.nvls.pattern = ChannelPattern::nvls;
  return made;
}

void add_channel(ConnectCase& made, std::istream& line) {
  std::string name;
  line >> name;
  GraphChannel channel;
  line >> channel.net_in >> channel.net_out;
  channel.ranks = numbers(line);
  graph_named(made, name).channels.push_back(channel);
}

std::vector<TreeLinks> tree_links(std::istream& line) {
  std::vector<TreeLinks> links;
  for (std::string entry; line >> entry;) {
    const std::vector<int> n = numbers_of(entry);
    links.push_back({n.at(0), {n.at(1), n.at(2), n.at(3)}});
  }
  return links;
}

std::vector<NvlsTreeLinks> nvls_links(std::istream& line) {
  std::vector<NvlsTreeLinks> links;
  for (std::string entry; line >> entry;) {
    const std::vector<int> n = numbers_of(entry);
    links.push_back({std::nullopt, n.at(0), {n.at(1), n.at(2)}});
  }
  return links;
}

void read_machine(const fs::path& file, std::vector<ConnectCase>& cases) {
  std::ifstream text(file);
  for (std::string whole; std::getline(text, whole);) {
    std::istringstream line(whole);
    std::string word;
    line >> word;
    if (word == "nodes") {
      cases.push_back(begin_case(line, file.stem().string()));
    } else if (word == "channel") {
      add_channel(cases.back(), line);
    } else if (word == "ring") {
      cases.back().rings.push_back(numbers(line));
    } else if (word == "tree") {
      cases.back().trees.push_back(tree_links(line));
    } else if (word == "nvls_tree") {
      cases.back().nvls_trees.push_back(nvls_links(line));
    }
  }
}

}  // namespace

std::vector<ConnectCase> connect_cases() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(root / "tests/unit/nccl/data/connect")) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<ConnectCase> cases;
  for (const fs::path& file : files) read_machine(file, cases);
  return cases;
}

std::string machine_xml(const std::string& machine) {
  std::ifstream file(root / "topologies/nccl" / (machine + ".xml"));
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace shardsim::nccl
