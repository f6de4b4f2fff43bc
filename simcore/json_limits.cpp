#include "simcore/json_limits.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace shardsim::simcore {

namespace {

/// Takes note of where the parser gave up.
class SyntaxCheck final : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // "[json.exception...] parse error at line 1, column 5: syntax error while ... - ..."
    const std::string_view text = error.what();
    const std::size_t begin = text.find(": ");
    problem_ =
        JsonProblem{position > 0 ? position - 1 : 0,
                    fmt::format("not valid JSON: {}",
                                begin == std::string_view::npos ? text : text.substr(begin + 2))};
    return false;
  }
  std::optional<JsonProblem> take() { return std::move(problem_); }

 private:
  std::optional<JsonProblem> problem_;
};

/// The offset behind the string that begins at `at`.
std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

}  // namespace

std::optional<JsonProblem> json_too_large(std::string_view text, const JsonLimits& limits) {
  std::size_t values = 1;
  std::size_t keys = 0;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    switch (text[at]) {
      case '"':
        at = end_of_string(text, at);
        continue;
      case '[':
      case '{':
        if (++depth > limits.depth) {
          return JsonProblem{at, fmt::format("nested deeper than {} levels", limits.depth)};
        }
        ++values;
        break;
      case ']':
      case '}':
        if (depth > 0) --depth;
        break;
      case ',':
        ++values;
        break;
      case ':':
        if (++keys > limits.keys) {
          return JsonProblem{at, fmt::format("more than {} keys", limits.keys)};
        }
        break;
      default:
        break;
    }
    if (values > limits.values) {
      return JsonProblem{at, fmt::format("more than {} values", limits.values)};
    }
    ++at;
  }
  return std::nullopt;
}

std::optional<JsonProblem> json_syntax_problem(std::string_view text) {
  SyntaxCheck check;
  nlohmann::json::sax_parse(text, &check);
  return check.take();
}

}  // namespace shardsim::simcore
