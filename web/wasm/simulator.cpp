// Runs any scenario of the bundled files, as `shardsim run` would.
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
#include "web/wasm/exchange.hpp"

namespace shardsim::web {

namespace {

using Json = nlohmann::ordered_json;

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
