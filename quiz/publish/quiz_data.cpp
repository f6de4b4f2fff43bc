#include "quiz/publish/quiz_data.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/scenario/result.hpp"
#include "quiz/show/step_spans.hpp"
#include "report/stream_timeline.hpp"
#include "simcore/config/codec.hpp"

namespace shardsim::quiz {

using Json = nlohmann::ordered_json;

namespace {

/// A time within a step, in whole nanoseconds: a third of the bytes of seconds, and exact enough
/// to draw.
std::int64_t nanoseconds(simcore::SimTime time) { return (time.picoseconds() + 500) / 1000; }

Json phrase_json(const Phrase& phrase) {
  if (!phrase.counts()) return phrase.other;
  Json made{{"count", phrase.count}};
  if (!phrase.one.empty()) made["one"] = phrase.one;
  made["other"] = phrase.other;
  return made;
}

Json words_json(const Words& words) {
  Json interface = Json::object();
  for (const auto& [key, phrase] : words.interface) interface[key] = phrase_json(phrase);
  Json page = Json::object();
  for (const auto& [key, phrase] : words.page) page[key] = phrase_json(phrase);
  Json questions = Json::object();
  for (const auto& [id, question] : words.questions) {
    Json options = Json::object();
    for (const auto& [option, text] : question.options) {
      options[option] = {{"text", text.text}, {"reason", text.reason}};
    }
    questions[id] = {
        {"ask", question.ask}, {"explanation", question.explanation}, {"options", options}};
  }
  return {{"language", words.language},
          {"name", words.name},
          {"direction", words.direction == Direction::rtl ? "rtl" : "ltr"},
          {"plural", simcore::print_value(words.plural)},
          {"grouping", simcore::print_value(words.grouping)},
          {"interface", std::move(interface)},
          {"page", std::move(page)},
          {"sliders", words.sliders},
          {"verdicts", words.verdicts},
          {"labels", words.labels},
          {"facts", words.facts},
          {"runs", words.runs},
          {"concepts", words.concepts},
          {"levels", words.levels},
          {"help", words.help},
          {"questions", std::move(questions)}};
}

Json quantity_json(const Quantity& quantity) {
  return {{"value", quantity.value}, {"unit", unit_name(quantity.dimension)}};
}

Json spans_json(const Spans& spans) {
  Json made = Json::array();
  for (const Span& span : spans) made.push_back({nanoseconds(span.from), nanoseconds(span.to)});
  return made;
}

/// [time, bytes of each MemoryKind in its order] where memory changes, thinned out; the time is
/// that at which the GPU reaches the change.
Json memory_points(const scenario::MemoryTimeline& timeline) {
  constexpr std::size_t most = 120;
  Json made = Json::array();
  for (const scenario::MemoryPoint& point : scenario::thin_out(timeline.points, most)) {
    Json one = Json::array({nanoseconds(point.device_time)});
    for (const simcore::Bytes bytes : point.by_kind) one.push_back(bytes.count);
    made.push_back(std::move(one));
  }
  return made;
}

Json options_json(const QuestionVerdict& verdict) {
  Json options = Json::array();
  for (const OptionVerdict& option : verdict.options) {
    Json numbers = Json::array();
    for (const NamedQuantity& number : option.numbers) {
      Json one{{"name", number.name}};
      one.update(quantity_json(number.quantity));
      numbers.push_back(std::move(one));
    }
    options.push_back({{"id", option.id},
                       {"verdict", verdict_name(option.verdict)},
                       {"claim", option.claim},
                       {"numbers", std::move(numbers)},
                       {"cites", option.cites}});
  }
  return options;
}

Json values_json(const QuestionBank& bank, const std::map<std::string, Quantity>& values) {
  Json made = Json::object();
  for (const auto& [name, value] : values) {
    Json texts = Json::object();
    for (const std::string& language : bank.spec.languages) {
      texts[language] = quantity_text(bank.words.at(language).rules(), value);
    }
    made[name] = quantity_json(value);
    made[name]["text"] = std::move(texts);
  }
  return made;
}

Json exploration_json(const ExplorationSpec& exploration) {
  Json sliders = Json::array();
  for (const SliderSpec& slider : exploration.sliders) {
    Json steps = Json::array();
    for (const SliderStep& step : slider.steps) {
      Json one{{"name", step.name}, {"set", step.set}};
      if (step.word) one["word"] = *step.word;
      if (step.scenario) one["scenario"] = *step.scenario;
      if (!step.without.empty()) one["without"] = step.without;
      steps.push_back(std::move(one));
    }
    sliders.push_back({{"id", slider.id}, {"start", slider.start}, {"steps", std::move(steps)}});
  }
  return {{"scenario", exploration.scenario}, {"sliders", std::move(sliders)}};
}

class DataWriter {
 public:
  DataWriter(const QuestionBank& bank, const std::vector<AnsweredQuestion>& questions,
             const std::string& scenarios, Recording recording)
      : bank_(bank), questions_(questions), scenarios_(scenarios), recording_(recording) {}

  std::string write(const std::string& version) {
    number_runs();
    Json languages = Json::object();
    for (const std::string& language : bank_.spec.languages) {
      languages[language] = words_json(bank_.words.at(language));
    }
    Json sources = Json::object();
    for (const auto& [key, source] : bank_.spec.sources) {
      sources[key] = {{"title", source.title}, {"url", source.url}};
    }
    Json questions = Json::array();
    for (const AnsweredQuestion& answered : questions_) questions.push_back(question(answered));
    Json runs = Json::array();
    for (const EvidenceRun* run : runs_) runs.push_back(run_json(*run));
    const Json document{{"schema", "shardsim.quiz-data/1"},
                        {"version", version},
                        {"guide", bank_.spec.guide},
                        {"languages", std::move(languages)},
                        {"sources", std::move(sources)},
                        {"questions", std::move(questions)},
                        {"explore", exploration_json(bank_.spec.explore)},
                        {"runs", std::move(runs)}};
    return document.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  }

 private:
  void number_runs() {
    for (const AnsweredQuestion& answered : questions_) {
      for (const auto& [name, run] : answered.runs) {
        if (numbers_.emplace(run, runs_.size()).second) runs_.push_back(run);
      }
      for (const ViewSpec& view : answered.question->spec.show) {
        for (const std::string& name : view.runs) {
          const EvidenceRun* run = answered.runs.at(name);
          if (view.kind == ViewKind::timeline) with_streams_.insert(run);
          if (view.kind == ViewKind::memory) with_memory_.insert(run);
        }
      }
    }
  }

  Json question(const AnsweredQuestion& answered) const {
    const QuestionSpec& spec = answered.question->spec;
    Json runs = Json::object();
    for (const auto& [name, run] : answered.runs) runs[name] = numbers_.at(run);
    return {{"id", spec.id},
            {"concept", spec.concept_id},
            {"level", spec.level},
            {"guide", spec.guide},
            {"answer", spec.answer},
            {"solved", answered.verdict.answer},
            {"options", options_json(answered.verdict)},
            {"runs", std::move(runs)},
            {"values", values_json(bank_, answered.values)},
            {"show", views(spec)}};
  }

  static Json views(const QuestionSpec& spec) {
    Json made = Json::array();
    for (const ViewSpec& view : spec.show) {
      Json one{{"kind", simcore::print_value(view.kind)}, {"runs", view.runs}};
      if (view.x) one["x"] = *view.x;
      if (!view.facts.empty()) one["facts"] = view.facts;
      made.push_back(std::move(one));
    }
    return made;
  }

  Json run_json(const EvidenceRun& run) const {
    if (recording_ == Recording::full) {
      return run_data(run, scenarios_, {with_memory_.contains(&run), with_streams_.contains(&run)});
    }
    Json made = run_data(run, scenarios_, {});
    for (const char* key :
         {"result", "step_ns", "computing_ns", "communicating_ns", "exposed_ns"}) {
      made.erase(key);
    }
    return made;
  }

  const QuestionBank& bank_;
  const std::vector<AnsweredQuestion>& questions_;
  const std::string& scenarios_;
  Recording recording_;
  std::vector<const EvidenceRun*> runs_;
  std::map<const EvidenceRun*, std::size_t> numbers_;
  std::set<const EvidenceRun*> with_memory_;
  std::set<const EvidenceRun*> with_streams_;
};

}  // namespace

Json run_data(const EvidenceRun& run, const std::string& scenarios, const RunDetail& detail) {
  Json facts = Json::object();
  for (const auto& [name, quantity] : run.facts) facts[name] = quantity_json(quantity);
  scenario::Result shown = run.output.result;
  shown.memory.timeline.points.clear();  // the longest part of it
  Json result = Json::parse(scenario::to_json(shown));
  // What depends on the machine, and what no view shows.
  for (const char* key : {"simulator", "links", "critical_path"}) result.erase(key);
  result["memory"].erase("timeline");
  result["scenario"]["file"] = scenarios + "/quiz/" + run.spec.scenario + ".yaml";
  const scenario::StepLog& log = run.output.logs.front();
  const StepSpans spans = spans_of(log);
  Json made{{"scenario", run.spec.scenario},
            {"set", run.spec.set},
            {"change", simcore::print_value(run.spec.change)},
            {"command", command_of(run.spec)},
            {"events", run.output.result.simulator.events},
            {"facts", std::move(facts)},
            {"result", std::move(result)},
            {"step_ns", nanoseconds(spans.step)},
            {"computing_ns", spans_json(spans.computing)},
            {"communicating_ns", spans_json(spans.communicating)},
            {"exposed_ns", spans_json(spans.exposed)}};
  if (detail.memory) made["memory_ns"] = memory_points(run.output.result.memory.timeline);
  if (detail.streams) made["streams"] = report::stream_timeline(log);
  return made;
}

Json verdict_data(const QuestionBank& bank, const QuestionVerdict& verdict,
                  const std::map<std::string, Quantity>& values) {
  return {{"id", verdict.id},
          {"solved", verdict.answer},
          {"options", options_json(verdict)},
          {"values", values_json(bank, values)}};
}

std::string to_quiz_data(const QuestionBank& bank, const std::vector<AnsweredQuestion>& questions,
                         const std::string& scenarios, const std::string& version,
                         Recording recording) {
  return DataWriter(bank, questions, scenarios, recording).write(version);
}

}  // namespace shardsim::quiz
