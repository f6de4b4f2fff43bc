#include "quiz/bank/question_spec.hpp"

namespace shardsim::quiz {

using simcore::Fields;

void RunSpec::describe(Fields<RunSpec>& fields) {
  fields.required("scenario", &RunSpec::scenario, "A file of `scenarios/quiz`, without `.yaml`.");
  fields.optional("set", &RunSpec::set, "Keys of the scenario to change, `KEY=VALUE`.");
  fields.optional("change", &RunSpec::change, "What is broken or replaced on purpose.");
}

void OptionSpec::describe(Fields<OptionSpec>& fields) {
  fields.required("id", &OptionSpec::id, "Its name in the files of words.");
  fields.optional("claim", &OptionSpec::claim, "What runs would show if the option were true.");
  fields.optional("cites", &OptionSpec::cites, "Sources for what no run can show.");
}

void ViewSpec::describe(Fields<ViewSpec>& fields) {
  fields.required("kind", &ViewSpec::kind,
                  "Bars of memory, a timeline, a curve, or bars of facts.");
  fields.required("runs", &ViewSpec::runs, "The runs shown, in order.").not_empty();
  fields.optional("x", &ViewSpec::x, "Curve: the fact on the x axis.");
  fields.optional("facts", &ViewSpec::facts, "Curve and bars: the facts that are drawn.");
}

void QuestionSpec::describe(Fields<QuestionSpec>& fields) {
  fields.required("id", &QuestionSpec::id, "Its name in scenarios and files of words.");
  fields.required("concept", &QuestionSpec::concept_id, "What it is about.");
  fields.required("level", &QuestionSpec::level, "How hard it is.");
  fields.required("guide", &QuestionSpec::guide, "Link into a guide.");
  fields.required("answer", &QuestionSpec::answer, "The option that is right.");
  fields.required("runs", &QuestionSpec::runs, "The runs that decide it.");
  fields.required("options", &QuestionSpec::options, "What one may choose.").count(2, 9);
  fields.optional("values", &QuestionSpec::values, "Numbers that texts name in braces.");
  fields.required("show", &QuestionSpec::show, "How the evidence is shown.");
}

void SourceSpec::describe(Fields<SourceSpec>& fields) {
  fields.required("title", &SourceSpec::title, "Authors, title, where and when.");
  fields.required("url", &SourceSpec::url, "Where it is.");
}

void SliderStep::describe(Fields<SliderStep>& fields) {
  fields.required("name", &SliderStep::name, "What the slider shows.");
  fields.optional("word", &SliderStep::word, "A label that stands instead of the name.");
  fields.optional("scenario", &SliderStep::scenario, "Another file of `scenarios/quiz`.");
  fields.optional("set", &SliderStep::set, "Keys of the scenario to change, `KEY=VALUE`.");
  fields.optional("without", &SliderStep::without, "Sliders that mean nothing then.");
}

void SliderSpec::describe(Fields<SliderSpec>& fields) {
  fields.required("id", &SliderSpec::id, "Its name in the files of words.");
  fields.optional("start", &SliderSpec::start, "Index of the step it stands on at first.");
  fields.required("steps", &SliderSpec::steps, "Its positions, in order.").count(2, 20);
}

void ExplorationSpec::describe(Fields<ExplorationSpec>& fields) {
  fields.required("scenario", &ExplorationSpec::scenario, "A file of `scenarios/quiz`.");
  fields.required("sliders", &ExplorationSpec::sliders, "What may be changed.").not_empty();
}

void BankSpec::describe(Fields<BankSpec>& fields) {
  fields.required("guide", &BankSpec::guide, "Link to the guide that the quiz belongs to.");
  fields.required("languages", &BankSpec::languages, "Each has a file of words.").not_empty();
  fields.optional("sources", &BankSpec::sources, "What options may cite.");
  fields.required("questions", &BankSpec::questions, "The questions, in order.").not_empty();
  fields.required("explore", &BankSpec::explore, "What a page lets learners change.");
}

}  // namespace shardsim::quiz
