// What is fuzzed: one function for each kind of input, from its bytes to the end of what the
// program does with them.
//
// A target takes any bytes. It must come back - no crash, no exception, no hang - and what it
// refuses must be refused with a message; `require` holds it to that. Sizes of clusters and runs
// are kept small here, so that the time goes into readers and not into honest large simulations.
// The same functions are run by libFuzzer (libfuzzer_main.cpp) and by the replay test.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "simcore/diagnostics.hpp"

namespace shardsim::fuzz {

/// How inputs are written, for mutations that keep them readable (mutation.hpp).
enum class Grammar { yaml, xml, csv, json, words };

struct Target {
  std::string_view name;
  void (*run)(std::string_view input);
  Grammar grammar;
  /// Longer inputs are cut by libFuzzer; all seeds fit.
  std::size_t most_bytes;
  /// How many mutations the replay test runs: few where one takes milliseconds.
  int replayed;
};

std::span<const Target> targets();
/// Null if there is none of that name.
const Target* find_target(std::string_view name);

// One file each, NAME_target.cpp.
void read_yaml_text(std::string_view input);
void run_scenario(std::string_view input);
void build_topology(std::string_view input);
void read_settings(std::string_view input);
void plan_topology_xml(std::string_view input);
void plan_graph_xml(std::string_view input);
void set_environment(std::string_view input);
void map_training(std::string_view input);
void compare_scaling(std::string_view input);
void map_collectives(std::string_view input);
void compare_reference(std::string_view input);
void read_json_texts(std::string_view input);
void load_questions(std::string_view input);
void evaluate_claim(std::string_view input);
void set_keys(std::string_view input);
void cross_axes(std::string_view input);
void resume_sweep(std::string_view input);
void merge_sweep(std::string_view input);

/// Ends the program with `message` unless it holds.
void require(bool holds, const char* message);
/// The same, with what was said.
void require(bool holds, const char* message, const simcore::Diagnostics& diagnostics);

std::shared_ptr<const simcore::SourceText> source_of(std::string_view text);

/// Inputs that stand for several files: the texts between lines "=====", at least `count` of them.
std::vector<std::string_view> parts_of(std::string_view input, std::size_t count);
inline constexpr std::string_view part_mark = "=====\n";

/// Lines of the text, without their ends; at most `most`.
std::vector<std::string_view> lines_of(std::string_view text, std::size_t most);

/// What was refused was refused with an error, messages can be written, and their places exist.
void check_messages(bool refused, const simcore::Diagnostics& diagnostics);

}  // namespace shardsim::fuzz
