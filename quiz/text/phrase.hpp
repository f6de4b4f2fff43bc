// A text with placeholders, as a language has it, and how it is filled.
//
// `{name}` stands for a value. A phrase that counts has a form for each plural category of its
// language, chosen by the number in one of its placeholders:
//     right: {count: n, one: "{n} right answer", other: "{n} right answers"}
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quiz/text/language_rules.hpp"
#include "simcore/config/codec.hpp"

namespace shardsim::quiz {

struct Phrase {
  std::string count;  ///< placeholder that chooses the form; empty: `other` is the only form
  std::string one;
  std::string other;

  bool counts() const { return !count.empty(); }
};

/// Placeholders of a text in the order of their names, each once.
std::vector<std::string> placeholders(std::string_view text);
/// Of all forms together.
std::vector<std::string> placeholders(const Phrase& phrase);

/// What stands for placeholders: a finished text, and its number if it is one.
struct Filling {
  std::string text;
  std::optional<double> number;
};
using Fillings = std::map<std::string, Filling, std::less<>>;

Filling filling(std::string text);
/// A count, grouped as the language does.
Filling filling(const LanguageRules& rules, std::int64_t count);

/// `text` with every placeholder that is in `fillings` replaced; others stay as they are.
std::string fill(std::string_view text, const Fillings& fillings);
/// The form that suits the number.
std::string fill(const Phrase& phrase, const Fillings& fillings, const LanguageRules& rules);

}  // namespace shardsim::quiz

namespace shardsim::simcore {

template <>
struct Codec<quiz::Phrase> {
  static std::optional<quiz::Phrase> read(const ConfigNode& node, ReadContext& context);
  static std::string print(const quiz::Phrase& value);
  static TypeSchema schema();
};

}  // namespace shardsim::simcore
