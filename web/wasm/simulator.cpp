// The simulator as the page calls it: text in, text out, through the module's memory.
//
// The page writes a request (JSON) where `shardsim_reserve` tells it to, calls a function, and
// reads the answer at `shardsim_answer` for the returned number of bytes.
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/scenario/experiment.hpp"
#include "models/scenario/simulation.hpp"
#include "models/scenario/timeline.hpp"
#include "web/wasm/bundled_files.hpp"

namespace shardsim::web {

namespace {

using Json = nlohmann::ordered_json;

std::string& request() {
  static std::string text;
  return text;
}

std::string& answer() {
  static std::string text;
  return text;
}

std::uint32_t reply(std::string text) {
  answer() = std::move(text);
  return static_cast<std::uint32_t>(answer().size());
}

std::uint32_t refuse(std::string_view kind, const std::string& message) {
  return reply(Json{{"failed", {{"kind", kind}, {"message", message}}}}.dump());
}

std::vector<std::string> overrides_in(const Json& wanted) {
  std::vector<std::string> overrides;
  const auto list = wanted.find("overrides");
  if (list == wanted.end() || !list->is_array()) return overrides;
  for (const Json& one : *list) {
    if (one.is_string()) overrides.push_back(one.get<std::string>());
  }
  return overrides;
}

bool flag(const Json& wanted, const char* name) {
  const auto found = wanted.find(name);
  return found != wanted.end() && found->is_boolean() && found->get<bool>();
}

/// {"result": ..., "timeline": [...]} or {"failed": {"kind", "message"}}.
std::uint32_t run(const Json& wanted) {
  simcore::Diagnostics diagnostics;
  auto loaded = scenario::load_scenario(wanted.value("scenario", std::string()),
                                        overrides_in(wanted), diagnostics);
  scenario::ExperimentOptions options;
  options.data.topologies = "topologies";
  options.data.scenarios = "scenarios";
  options.exact_ranks = flag(wanted, "exact_ranks");
  std::optional<scenario::Experiment> experiment;
  if (loaded) experiment = scenario::build_experiment(std::move(*loaded), options, diagnostics);
  if (!experiment || diagnostics.has_errors()) {
    return refuse("bad_input", simcore::to_text(diagnostics));
  }
  scenario::Simulation simulation(*experiment);
  while (simulation.advance(1 << 20)) {
  }
  auto output = simulation.finish();
  if (!output) {
    Json failed{{"failed", {{"kind", "impossible"}, {"message", output.error().message}}}};
    std::string text = failed.dump();
    if (output.error().result) {
      text.pop_back();
      text += ",\"result\":" + scenario::to_json(*output.error().result) + "}";
    }
    return reply(std::move(text));
  }
  // The result goes out as the program itself writes it, so that the digits are the same.
  std::string text = "{\"result\":" + scenario::to_json(output->result);
  if (flag(wanted, "timeline")) {
    std::ostringstream timeline;
    scenario::write_timeline(timeline, output->logs);
    text += ",\"timeline\":" + timeline.str();
  }
  return reply(text + "}");
}

}  // namespace

}  // namespace shardsim::web

extern "C" {

/// Room for a request of `bytes` bytes; what was there is lost.
__attribute__((export_name("shardsim_reserve"))) char* shardsim_reserve(std::uint32_t bytes) {
  shardsim::web::request().assign(bytes, '\0');
  return shardsim::web::request().data();
}

/// Where the answer to the last call begins.
__attribute__((export_name("shardsim_answer"))) const char* shardsim_answer() {
  return shardsim::web::answer().data();
}

/// The request is a bundle of files, {path: tree}. 1 if it could be read, else 0.
__attribute__((export_name("shardsim_add_files"))) std::uint32_t shardsim_add_files() {
  return shardsim::web::add_bundle(shardsim::web::request()) ? 1 : 0;
}

/// The request is {"scenario": path, "overrides": ["key=value", ...], "timeline": bool,
/// "exact_ranks": bool}. Bytes of the answer.
__attribute__((export_name("shardsim_run"))) std::uint32_t shardsim_run() {
  const auto wanted = shardsim::web::Json::parse(shardsim::web::request(), nullptr, false);
  if (!wanted.is_object()) {
    return shardsim::web::refuse("bad_input", "expected a request as a JSON object");
  }
  return shardsim::web::run(wanted);
}
}
