#include "quiz/text/phrase.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "simcore/config/fields.hpp"

namespace shardsim::quiz {

namespace {

/// Calls `visit(name)` for each placeholder and `keep(text)` for what lies between.
template <class Visit, class Keep>
void split(std::string_view text, Visit visit, Keep keep) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t open = std::min(text.find('{', at), text.size());
    const std::size_t close = text.find('}', open);
    if (open == text.size() || close == std::string_view::npos) break;
    keep(text.substr(at, open - at));
    visit(text.substr(open + 1, close - open - 1));
    at = close + 1;
  }
  keep(text.substr(at));
}

void collect(std::string_view text, std::set<std::string>& names) {
  split(text, [&](std::string_view name) { names.emplace(name); }, [](std::string_view) {});
}

}  // namespace

std::vector<std::string> placeholders(std::string_view text) {
  std::set<std::string> names;
  collect(text, names);
  return {names.begin(), names.end()};
}

std::vector<std::string> placeholders(const Phrase& phrase) {
  std::set<std::string> names;
  collect(phrase.one, names);
  collect(phrase.other, names);
  if (phrase.counts()) names.insert(phrase.count);
  return {names.begin(), names.end()};
}

Filling filling(std::string text) { return {std::move(text), std::nullopt}; }

Filling filling(const LanguageRules& rules, std::int64_t count) {
  return {grouped(rules, count), static_cast<double>(count)};
}

std::string fill(std::string_view text, const Fillings& fillings) {
  std::string filled;
  split(
      text,
      [&](std::string_view name) {
        const auto found = fillings.find(name);
        filled += found != fillings.end() ? found->second.text : "{" + std::string(name) + "}";
      },
      [&](std::string_view between) { filled += between; });
  return filled;
}

std::string fill(const Phrase& phrase, const Fillings& fillings, const LanguageRules& rules) {
  if (!phrase.counts()) return fill(phrase.other, fillings);
  const auto found = fillings.find(phrase.count);
  const bool known = found != fillings.end() && found->second.number;
  const bool one = known && is_one(rules.plural, *found->second.number);
  return fill(one && !phrase.one.empty() ? phrase.one : phrase.other, fillings);
}

}  // namespace shardsim::quiz

namespace shardsim::simcore {

using quiz::Phrase;

namespace {

struct CountingForms {
  std::string count;
  std::optional<std::string> one;
  std::string other;
  static void describe(Fields<CountingForms>& fields) {
    fields.required("count", &CountingForms::count, "The placeholder whose number chooses.");
    fields.optional("one", &CountingForms::one, "Form of the plural category `one`.");
    fields.required("other", &CountingForms::other, "Form of all other numbers.");
  }
};

}  // namespace

std::optional<Phrase> Codec<Phrase>::read(const ConfigNode& node, ReadContext& context) {
  if (!node.is_map()) {
    auto text = read_value<std::string>(node, context);
    if (!text) return std::nullopt;
    return Phrase{{}, {}, std::move(*text)};
  }
  auto forms = read_value<CountingForms>(node, context);
  if (!forms) return std::nullopt;
  return Phrase{forms->count, forms->one.value_or(std::string()), forms->other};
}

std::string Codec<Phrase>::print(const Phrase& value) {
  if (!value.counts()) return print_value(value.other);
  CountingForms forms{value.count, std::nullopt, value.other};
  if (!value.one.empty()) forms.one = value.one;
  return print_value(forms);
}

TypeSchema Codec<Phrase>::schema() {
  return choice_of({schema_of<std::string>(), schema_of<CountingForms>()});
}

}  // namespace shardsim::simcore
