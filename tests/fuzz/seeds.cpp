#include "tests/fuzz/seeds.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "tests/fuzz/memory_files.hpp"

namespace shardsim::fuzz {

namespace {

namespace fs = std::filesystem;

std::string text_in(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Files of `folder` that end in `extension`, all if that is empty; by name.
std::vector<Seed> files_in(const fs::path& folder, const std::string& extension) {
  std::vector<Seed> found;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (!entry->is_regular_file()) continue;
    if (!extension.empty() && entry->path().extension() != extension) continue;
    found.push_back({entry->path().filename().string(), text_in(entry->path())});
  }
  std::ranges::sort(found, {}, &Seed::name);
  return found;
}

class Gatherer {
 public:
  void add(std::initializer_list<const char*> folders, const char* extension) {
    for (const char* folder : folders) {
      for (Seed& one : files_in(source_folder() / folder, extension)) {
        seeds_.push_back(std::move(one));
      }
    }
  }
  /// One seed of several files.
  void join(const char* name, std::initializer_list<const char*> files) {
    Seed made{name, {}};
    for (const char* file : files) {
      if (!made.text.empty()) made.text += part_mark;
      made.text += text_in(source_folder() / file);
    }
    seeds_.push_back(std::move(made));
  }
  std::vector<Seed> take(std::size_t most_bytes) {
    std::erase_if(seeds_, [&](const Seed& one) { return one.text.size() > most_bytes; });
    return std::move(seeds_);
  }

 private:
  std::vector<Seed> seeds_;
};

void add_shipped(std::string_view target, Gatherer& seeds) {
  if (target == "scenario") {
    seeds.add({"scenarios", "scenarios/pairs", "scenarios/quiz"}, ".yaml");
  } else if (target == "topology") {
    seeds.add({"topologies", "scenarios/quiz/networks"}, ".yaml");
  } else if (target == "settings") {
    seeds.add({"topologies/gpus", "scenarios/models", "scenarios/prices", "validation"}, ".yaml");
    seeds.add({"quiz/bank"}, ".yaml");
  } else if (target == "yaml") {
    seeds.add({"quiz/bank", "validation", "scenarios/prices", "topologies/gpus"}, ".yaml");
    seeds.add({"tests/fuzz/seeds/scenario"}, ".yaml");
  } else if (target == "topology_xml") {
    seeds.add({"topologies/nccl"}, ".xml");
  } else if (target == "training_csv") {
    seeds.add({"tests/golden/validation"}, ".csv");
  } else if (target == "scaling_csv") {
    seeds.add({"tests/reference/data/recorded"}, ".csv");
  } else if (target == "collectives_csv") {
    seeds.join("recorded", {"tests/reference/data/recorded/nccl_tables.csv",
                            "tests/reference/data/recorded/nccl.csv"});
  } else if (target == "quiz") {
    seeds.join("bank", {"quiz/bank/questions.yaml", "quiz/bank/en.yaml", "quiz/bank/hi.yaml",
                        "quiz/bank/ms.yaml"});
    seeds.join("one_language", {"quiz/bank/questions.yaml", "quiz/bank/en.yaml"});
  }
}

}  // namespace

std::vector<Seed> seeds_of(const Target& target) {
  Gatherer seeds;
  add_shipped(target.name, seeds);
  seeds.add({("tests/fuzz/seeds/" + std::string(target.name)).c_str()}, "");
  return seeds.take(target.most_bytes);
}

std::vector<Seed> findings_of(const Target& target) {
  return files_in(source_folder() / "tests/fuzz/findings" / target.name, "");
}

}  // namespace shardsim::fuzz
