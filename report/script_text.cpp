#include "report/script_text.hpp"

#include <nlohmann/json.hpp>

namespace shardsim::report {

std::string script_text(const nlohmann::ordered_json& document) {
  const std::string plain =
      document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string safe;
  safe.reserve(plain.size() + plain.size() / 64);
  for (std::size_t at = 0; at < plain.size(); ++at) {
    const char c = plain[at];
    if (c == '<') {
      safe += "\\u003c";
    } else if (c == '>') {
      safe += "\\u003e";
    } else if (c == '&') {
      safe += "\\u0026";
    } else if (plain.compare(at, 3, "\xe2\x80\xa8") == 0) {
      safe += "\\u2028";
      at += 2;
    } else if (plain.compare(at, 3, "\xe2\x80\xa9") == 0) {
      safe += "\\u2029";
      at += 2;
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace shardsim::report
