#include "tests/fuzz/targets.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace shardsim::fuzz {

namespace {

constexpr std::size_t KiB = 1024;

constexpr std::array all{
    Target{"yaml", read_yaml_text, Grammar::yaml, 64 * KiB, 400},
    Target{"scenario", run_scenario, Grammar::yaml, 16 * KiB, 60},
    Target{"topology", build_topology, Grammar::yaml, 16 * KiB, 60},
    Target{"settings", read_settings, Grammar::yaml, 16 * KiB, 200},
    Target{"topology_xml", plan_topology_xml, Grammar::xml, 16 * KiB, 60},
    Target{"graph_xml", plan_graph_xml, Grammar::xml, 16 * KiB, 60},
    Target{"environment", set_environment, Grammar::words, 4 * KiB, 60},
    Target{"training_csv", map_training, Grammar::csv, 16 * KiB, 60},
    Target{"scaling_csv", compare_scaling, Grammar::csv, 16 * KiB, 200},
    Target{"collectives_csv", map_collectives, Grammar::csv, 16 * KiB, 60},
    Target{"reference_log", compare_reference, Grammar::csv, 16 * KiB, 60},
    Target{"json", read_json_texts, Grammar::json, 16 * KiB, 400},
    Target{"quiz", load_questions, Grammar::yaml, 256 * KiB, 40},
    Target{"claim", evaluate_claim, Grammar::words, 4 * KiB, 400},
    Target{"set", set_keys, Grammar::words, 4 * KiB, 60},
    Target{"over", cross_axes, Grammar::words, 4 * KiB, 200},
    Target{"journal", resume_sweep, Grammar::json, 16 * KiB, 200},
    Target{"merge", merge_sweep, Grammar::json, 16 * KiB, 200},
};

}  // namespace

std::span<const Target> targets() { return all; }

const Target* find_target(std::string_view name) {
  const auto* const found = std::ranges::find(all, name, &Target::name);
  return found == all.end() ? nullptr : &*found;
}

void require(bool holds, const char* message) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s\n", message);
  std::abort();
}

void require(bool holds, const char* message, const simcore::Diagnostics& diagnostics) {
  if (!holds) std::fputs(simcore::to_text(diagnostics).c_str(), stderr);
  require(holds, message);
}

std::shared_ptr<const simcore::SourceText> source_of(std::string_view text) {
  return std::make_shared<simcore::SourceText>(simcore::SourceText{"input", std::string(text)});
}

std::vector<std::string_view> parts_of(std::string_view input, std::size_t count) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t mark = input.find(part_mark);
    parts.push_back(input.substr(0, mark));
    if (mark == std::string_view::npos) break;
    input.remove_prefix(mark + part_mark.size());
  }
  if (parts.size() < count) parts.resize(count);
  return parts;
}

std::vector<std::string_view> lines_of(std::string_view text, std::size_t most) {
  std::vector<std::string_view> lines;
  while (!text.empty() && lines.size() < most) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

void check_messages(bool refused, const simcore::Diagnostics& diagnostics) {
  require(!refused || diagnostics.has_errors(), "refused without a message");
  for (const simcore::Diagnostic& one : diagnostics.all()) {
    require(!one.message.empty(), "a message without words");
    require(one.where.line >= 0 && (one.where.line == 0 || one.where.source != nullptr),
            "a message about a line of no text");
    const std::string text = simcore::to_text(one);
    require(text.ends_with('\n'), "a message that does not end its line");
  }
}

}  // namespace shardsim::fuzz
