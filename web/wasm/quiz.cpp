// What the quiz page asks for: runs of questions, verdicts on their claims, runs of its sliders.
//
// The same code as `shardsim quiz solve` carries out, measures and judges, on bundled files: the
// bank is `quiz/bank/`, beside `scenarios/` and `topologies/`.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "quiz/publish/quiz_data.hpp"
#include "web/wasm/exchange.hpp"

namespace shardsim::web {

namespace {

using Json = nlohmann::ordered_json;

const scenario::DataFolders& folders() {
  static const scenario::DataFolders bundled{"topologies", "scenarios"};
  return bundled;
}

/// The bank and the runs carried out so far; no bank if the files have errors.
struct Quiz {
  simcore::Diagnostics diagnostics;
  std::optional<quiz::QuestionBank> bank = quiz::load_question_bank("quiz/bank", diagnostics);
  quiz::EvidenceRuns runs{folders()};
};

Quiz& shared_quiz() {
  static Quiz quiz;
  return quiz;
}

std::string text_of(const Json& wanted, const char* name) {
  const auto found = wanted.find(name);
  return found != wanted.end() && found->is_string() ? found->get<std::string>() : std::string();
}

quiz::RunDetail detail_of(const Json& wanted) {
  const auto flag = [&wanted](const char* name) {
    const auto found = wanted.find(name);
    return found != wanted.end() && found->is_boolean() && found->get<bool>();
  };
  return {flag("memory"), flag("streams")};
}

std::uint32_t run_of_question(const Json& wanted) {
  Quiz& quiz = shared_quiz();
  const std::string id = text_of(wanted, "question");
  const quiz::Question* question = quiz.bank->find(id);
  const std::string name = text_of(wanted, "run");
  if (question == nullptr || !question->spec.runs.contains(name)) {
    return refuse("bad_input", "there is no run '" + id + "." + name + "'");
  }
  const auto run = quiz.runs.get(question->spec.runs.at(name));
  if (!run) return refuse("impossible", run.error());
  return reply(run_data(**run, "scenarios", detail_of(wanted)).dump());
}

std::uint32_t verdict_of_question(const std::string& id) {
  Quiz& quiz = shared_quiz();
  const quiz::Question* question = quiz.bank->find(id);
  if (question == nullptr) return refuse("bad_input", "there is no question '" + id + "'");
  const auto runs = quiz.runs.all(question->spec);
  if (!runs) return refuse("impossible", runs.error());
  const quiz::RunFacts facts = quiz::facts_of(*runs);
  const auto verdict = judge(*question, facts);
  if (!verdict) return refuse("impossible", verdict.error());
  const auto values = values_of(*question, facts);
  if (!values) return refuse("impossible", values.error());
  return reply(verdict_data(*quiz.bank, *verdict, *values).dump());
}

std::uint32_t run_of_sliders(const Json& wanted) {
  quiz::RunSpec spec{text_of(wanted, "scenario"), {}};
  const auto list = wanted.find("set");
  if (list != wanted.end() && list->is_array()) {
    for (const Json& one : *list) {
      if (one.is_string()) spec.set.push_back(one.get<std::string>());
    }
  }
  const auto run = quiz::try_out(spec, folders());
  if (run) return reply(run_data(*run, "scenarios", detail_of(wanted)).dump());
  const bool full = run.error().kind == scenario::FailureKind::out_of_memory;
  Json failed{
      {"failed",
       {{"kind", full ? "out_of_memory" : "impossible"}, {"message", run.error().message}}}};
  failed["command"] = quiz::command_of(spec);
  if (run.error().result) {
    failed["result"] = Json::parse(scenario::to_json(*run.error().result));
  }
  return reply(failed.dump());
}

}  // namespace

}  // namespace shardsim::web

extern "C" {

/// The request is one of
///   {"question", "run", "memory": bool, "streams": bool}    a run of a question
///   {"verdict": question}                                   what its runs say of its options
///   {"scenario", "set": [...], "memory", "streams"}         any run, without keeping it
/// Bytes of the answer: as run_data() and verdict_data() (quiz/publish/quiz_data.hpp) make it, or
/// {"failed": {"kind", "message"}, "result": what is known all the same}.
__attribute__((export_name("shardsim_quiz"))) std::uint32_t shardsim_quiz() {
  using namespace shardsim::web;
  const Json wanted = Json::parse(request(), nullptr, false);
  if (!wanted.is_object()) return refuse("bad_input", "expected a request as a JSON object");
  if (wanted.contains("scenario")) return run_of_sliders(wanted);
  if (!shared_quiz().bank) {
    return refuse("bad_input", shardsim::simcore::to_text(shared_quiz().diagnostics));
  }
  if (wanted.contains("verdict")) return verdict_of_question(text_of(wanted, "verdict"));
  return run_of_question(wanted);
}
}
