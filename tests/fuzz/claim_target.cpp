// Claims of the quiz, a line each, over facts of every dimension.
#include "quiz/evidence/expression.hpp"
#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

void evaluate_claim(std::string_view input) {
  static const quiz::RunFacts facts = [] {
    quiz::RunFacts made;
    made["a"]["bytes"] = {80e9, quiz::in_bytes};
    made["a"]["time"] = {0.25, quiz::in_seconds};
    made["a"]["count"] = {3, quiz::no_dimension};
    made["b"]["time"] = {0, quiz::in_seconds};
    return made;
  }();
  for (const std::string_view line : lines_of(input, 8)) {
    const auto parsed = quiz::Expression::parse(line);
    if (!parsed) {
      require(!parsed.error().message.empty() && parsed.error().offset <= line.size(),
              "a refusal without a reason");
      continue;
    }
    const auto value = parsed->evaluate(facts);
    if (!value) require(!value.error().empty(), "a refusal without a reason");
  }
}

}  // namespace shardsim::fuzz
