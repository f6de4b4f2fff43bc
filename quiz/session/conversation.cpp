#include "quiz/session/conversation.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "quiz/evidence/verdict.hpp"
#include "quiz/publish/answered_bank.hpp"
#include "quiz/text/display_width.hpp"
#include "simcore/quantity.hpp"
#include "simcore/time.hpp"
#include "simcore/utf8.hpp"

namespace shardsim::quiz {

namespace {

std::string trimmed(const std::string& text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  auto begin = std::find_if_not(text.begin(), text.end(), blank);
  auto end = std::find_if_not(text.rbegin(), std::make_reverse_iterator(begin), blank).base();
  return {begin, end};
}

/// What a user typed, fit for showing: short and without control characters.
std::string quoted_input(const std::string& input) {
  constexpr std::size_t longest = 40;
  std::string shown;
  for (std::size_t at = 0, count = 0; at < input.size(); ++count) {
    if (count == longest) return shown + "...";
    const simcore::Utf8Character next = simcore::next_utf8(input, at);
    shown += next.printable() ? input.substr(at, next.length)
                              : std::string(simcore::replacement_character);
    at += next.length;
  }
  return shown;
}

std::string letter_of(std::size_t option) {
  return std::string(1, static_cast<char>('a' + static_cast<int>(option)));
}

class Conversation {
 public:
  Conversation(const QuestionBank& bank, EvidenceRuns& runs, const ProgressFile& file,
               const ConversationSettings& settings, const Console& console)
      : bank_(bank),
        runs_(runs),
        file_(file),
        settings_(settings),
        words_(bank.words.at(settings.language)),
        console_(console) {}

  Ending run() {
    introduce();
    resume();
    const std::size_t count = bank_.questions.size();
    for (std::size_t k = 0; k < count; ++k) {
      const Question& question = bank_.questions[k];
      if (progress_.find(question.spec.id) != nullptr) continue;
      if (!ask(question, k + 1)) return stop();
      if (!give_evidence(question)) return Ending::failed;
      const bool last = progress_.answers.size() == count;
      if (!last && !pause()) return stop();
    }
    conclude();
    return Ending::finished;
  }

 private:
  // Writing.

  void line(const std::string& text = {}) { console_.write(text + "\n"); }

  void paragraph(const std::string& text, const std::string& indent = {}) {
    const std::size_t width =
        console_.width > indent.size() + 20 ? console_.width - indent.size() : std::size_t{20};
    for (const std::string& part : wrap(text, width)) line(indent + part);
  }

  std::string paint(const std::string& text, const char* code) const {
    return console_.colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }
  void heading(const std::string& text) {
    line();
    line(paint(text, "1"));
  }

  std::string say(const char* key, const Fillings& fillings = {}) const {
    return words_.say(key, fillings);
  }
  Filling number(std::int64_t value) const { return filling(words_.rules(), value); }
  const QuestionWords& words_of(const Question& question) const {
    return words_.questions.at(question.spec.id);
  }

  // The parts of the conversation, in their order.

  void introduce() {
    line(paint(say("title"), "1"));
    line();
    paragraph(say("covers"));
    paragraph(say("method"));
    std::set<std::string> levels;
    for (const Question& question : bank_.questions) levels.insert(question.spec.level);
    for (const std::string& level : levels) {
      line(say("level", {{"level", filling(words_.levels.at(level))}}));
    }
    line(say("guide", {{"link", filling(bank_.spec.guide)}}));
    heading(say("preview"));
    for (std::size_t k = 0; k < bank_.questions.size(); ++k) {
      const std::vector<std::string> parts =
          wrap(words_of(bank_.questions[k]).ask, console_.width - 5);
      for (std::size_t i = 0; i < parts.size(); ++i) {
        line((i == 0 ? fmt::format("{:>3}. ", k + 1) : std::string(5, ' ')) + parts[i]);
      }
    }
  }

  void resume() {
    ProgressFile::Loaded loaded = file_.load(bank_);
    progress_ = std::move(loaded.progress);
    if (loaded.set_aside) {
      line();
      paragraph(say("state_broken", {{"file", filling(loaded.set_aside->string())}}));
    }
    if (progress_.answers.empty()) return;
    line();
    if (progress_.answers.size() == bank_.questions.size()) {
      paragraph(say("finished_before",
                    {{"command", filling(without_blanks("shardsim quiz --restart --lang " +
                                                        settings_.language))}}));
    } else {
      paragraph(say("resumed", {{"n", number(std::ssize(progress_.answers))}}));
    }
  }

  /// False if the user stops.
  bool ask(const Question& question, std::size_t k) {
    const QuestionWords& words = words_of(question);
    heading(say("question_of", {{"k", number(static_cast<std::int64_t>(k))},
                                {"n", number(std::ssize(bank_.questions))}}));
    line(say("about", {{"concept", filling(words_.concepts.at(question.spec.concept_id))}}));
    line(say("guide", {{"link", filling(question.spec.guide)}}));
    line();
    paragraph(words.ask);
    line();
    for (std::size_t i = 0; i < question.spec.options.size(); ++i) {
      option_text(i, words.options.at(question.spec.options[i].id).text);
    }
    line();
    const auto option = choose(question);
    if (!option) return false;
    line();
    line(say("how_sure"));
    for (int sure = 1; sure <= sure_levels; ++sure) {
      line(fmt::format("  {}  {}", sure, say(fmt::format("sure_{}", sure).c_str())));
    }
    const auto sure = choose_sure();
    if (!sure) return false;
    progress_.answers.push_back({question.spec.id, question.spec.options[*option].id, *sure});
    save();
    return true;
  }

  void option_text(std::size_t option, const std::string& text, const std::string& suffix = {}) {
    const std::vector<std::string> parts = wrap(text + suffix, console_.width - 6);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      line((i == 0 ? "  " + letter_of(option) + ") " : std::string(5, ' ')) + parts[i]);
    }
  }

  /// A trimmed line; nothing if the user stops. Help is given here.
  std::optional<std::string> prompt(const std::string& text) {
    for (;;) {
      console_.write(text);
      const auto typed = console_.read_line();
      if (!typed) {
        line();
        return std::nullopt;
      }
      std::string input = trimmed(*typed);
      if (input == "q" || input == "Q") return std::nullopt;
      if (input != "?") return input;
      heading(say("help"));
      for (const char* topic : {"answering", "evidence", "stopping", "plain"}) {
        paragraph(words_.help.at(topic));
      }
      line();
    }
  }

  std::optional<std::size_t> choose(const Question& question) {
    const std::size_t count = question.spec.options.size();
    const Fillings range{{"first", filling("a")}, {"last", filling(letter_of(count - 1))}};
    for (;;) {
      const auto input = prompt(say("choose", range));
      if (!input) return std::nullopt;
      if (input->size() == 1) {
        const char typed = static_cast<char>((*input)[0] | 0x20);
        const auto option = static_cast<std::size_t>(typed - 'a');
        if (typed >= 'a' && option < count) return option;
      }
      Fillings with = range;
      with["input"] = filling(quoted_input(*input));
      paragraph(say("not_an_option", with));
    }
  }

  std::optional<int> choose_sure() {
    for (;;) {
      const auto input = prompt(say("choose_sure"));
      if (!input) return std::nullopt;
      if (input->size() == 1 && (*input)[0] >= '1' && (*input)[0] <= '0' + sure_levels) {
        return (*input)[0] - '0';
      }
      paragraph(say("not_a_confidence", {{"input", filling(quoted_input(*input))}}));
    }
  }

  bool pause() {
    line();
    return prompt(say("next")).has_value();
  }

  void save() {
    const auto done = file_.save(progress_);
    if (!done) paragraph(say("not_saved", {{"reason", filling(done.error())}}));
  }

  Ending stop() {
    line();
    if (progress_.answers.empty()) return Ending::stopped;
    paragraph(say("saved"));
    return Ending::stopped;
  }

  // Evidence.

  std::optional<NamedRuns> carry_out_runs(const Question& question) {
    line();
    if (!console_.terminal) line(say("running") + " ...");
    // Before the learner's eyes: nothing is kept from earlier questions.
    runs_.clear();
    const double begun = console_.seconds();
    const auto runs = runs_.all(question.spec, [this](double share) {
      if (!console_.terminal) return;
      console_.write(fmt::format("\r\x1b[K{}: {:.0f} %", say("running"), share * 100));
    });
    if (console_.terminal) console_.write("\r\x1b[K");
    if (!runs) {
      paragraph(say("impossible", {{"reason", filling(runs.error())}}));
      return std::nullopt;
    }
    const auto took = simcore::SimTime::from_seconds(console_.seconds() - begun);
    line(say("ran", {{"n", number(std::ssize(*runs))}, {"time", filling(simcore::to_text(took))}}));
    return *runs;
  }

  bool give_evidence(const Question& question) {
    const auto runs = carry_out_runs(question);
    if (!runs) return false;
    const RunFacts facts = facts_of(*runs);
    const auto verdict = judge(question, facts);
    const auto values = values_of(question, facts);
    if (!verdict || !values) {
      const std::string& reason = verdict ? values.error() : verdict.error();
      paragraph(say("impossible", {{"reason", filling(reason)}}));
      return false;
    }
    Fillings fillings = write_out(*values, words_.rules());
    for (auto& [name, value] : fillings) value.text = without_blanks(value.text);
    right_or_wrong(question);
    heading(say("explanation"));
    paragraph(fill(words_of(question).explanation, fillings));
    heading(say("evidence"));
    for (std::size_t i = 0; i < verdict->options.size(); ++i) {
      show_option(question, i, verdict->options[i], fillings);
    }
    show_numbers(*verdict);
    for (const ViewSpec& view : question.spec.show) {
      line();
      for (const std::string& row : plot(view, *runs, words_, console_.plots)) line(row);
    }
    show_sources(question);
    show_commands(question);
    return true;
  }

  void right_or_wrong(const Question& question) {
    const Answer& answer = *progress_.find(question.spec.id);
    line();
    if (answer.option == question.spec.answer) return line(paint(say("right"), "1;32"));
    const auto& options = question.spec.options;
    const auto marked = std::ranges::find(options, question.spec.answer, &OptionSpec::id);
    const auto index = static_cast<std::size_t>(marked - options.begin());
    const std::string& text = words_of(question).options.at(marked->id).text;
    paragraph(paint(say("wrong", {{"letter", filling(letter_of(index))}, {"text", filling(text)}}),
                    "1;31"));
  }

  void show_option(const Question& question, std::size_t index, const OptionVerdict& verdict,
                   const Fillings& fillings) {
    const OptionWords& words = words_of(question).options.at(verdict.id);
    const bool chosen = progress_.find(question.spec.id)->option == verdict.id;
    std::string suffix = " [" + words_.verdicts.at(verdict_name(verdict.verdict)) + "]";
    if (chosen) suffix += " (" + say("your_answer") + ")";
    option_text(index, words.text, suffix);
    paragraph(fill(words.reason, fillings), "     ");
  }

  void show_numbers(const QuestionVerdict& verdict) {
    std::set<std::string> shown;
    heading(say("numbers"));
    for (const OptionVerdict& option : verdict.options) {
      for (const NamedQuantity& number : option.numbers) {
        if (!shown.insert(number.name).second) continue;
        const std::string value = quantity_text(words_.rules(), number.quantity);
        const std::string name = words_.name_of_fact(number.name);
        line(console_.plots.plain ? fmt::format("  {}: {}", name, value)
                                  : fmt::format("  {:>10}  {}", value, name));
      }
    }
  }

  void show_sources(const Question& question) {
    std::set<std::string> cited;
    for (const OptionSpec& option : question.spec.options) {
      cited.insert(option.cites.begin(), option.cites.end());
    }
    if (cited.empty()) return;
    heading(say("sources"));
    for (const std::string& key : cited) {
      const SourceSpec& source = bank_.spec.sources.at(key);
      paragraph(source.title, "  ");
      line("    " + source.url);
    }
  }

  void show_commands(const Question& question) {
    heading(say("reproduce"));
    std::set<std::string> shown;
    bool changed = false;
    for (const auto& [name, spec] : question.spec.runs) {
      const std::string command = command_of(spec);
      changed |= command.empty();
      if (!command.empty() && shown.insert(command).second) line("  " + command);
    }
    if (!changed) return;
    const std::string command = "shardsim quiz solve --question " + question.spec.id;
    paragraph(say("changed_runs", {{"command", filling(without_blanks(command))}}), "  ");
  }

  // The end.

  void conclude() {
    const Score made = score(progress_, bank_);
    heading(say("results"));
    line(say("score", {{"right", number(made.right)}, {"n", number(made.answered)}}));
    heading(say("calibration"));
    for (int sure = 1; sure <= sure_levels; ++sure) {
      const Calibration& level = made.by_sure[sure - 1];
      if (level.given == 0) continue;
      line("  " +
           say("calibration_row", {{"level", filling(say(fmt::format("sure_{}", sure).c_str()))},
                                   {"right", number(level.right)},
                                   {"n", number(level.given)}}));
    }
    paragraph(say("stated", {{"stated", number(std::llround(made.stated))},
                             {"achieved", number(std::llround(made.achieved))}}));
    constexpr double fits = 10;
    const double excess = made.stated - made.achieved;
    line(say(excess > fits    ? "over_confident"
             : excess < -fits ? "under_confident"
                              : "well_calibrated"));
    heading(say("review"));
    if (made.wrong.empty() && made.unsure.empty()) paragraph(say("nothing_to_review"), "  ");
    for (const std::string& id : made.wrong) review(id, "review_wrong");
    for (const std::string& id : made.unsure) review(id, "review_unsure");
  }

  void review(const std::string& id, const char* why) {
    const Question& question = *bank_.find(id);
    const auto k = &question - bank_.questions.data() + 1;
    paragraph(fmt::format("{}. {} ({})", k, words_of(question).ask, say(why)), "  ");
    line("     " + question.spec.guide);
  }

  const QuestionBank& bank_;
  EvidenceRuns& runs_;
  const ProgressFile& file_;
  const ConversationSettings& settings_;
  const Words& words_;
  const Console& console_;
  Progress progress_;
};

}  // namespace

Ending hold_conversation(const QuestionBank& bank, EvidenceRuns& runs, const ProgressFile& file,
                         const ConversationSettings& settings, const Console& console) {
  return Conversation(bank, runs, file, settings, console).run();
}

}  // namespace shardsim::quiz
