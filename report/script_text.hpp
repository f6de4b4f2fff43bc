// Data inside a page's <script> element.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace shardsim::report {

/// `document` as JSON that may stand in a <script> element: no text in it can end the element,
/// begin a comment or an entity, or break a line of JavaScript. `<`, `>`, `&`, U+2028 and U+2029
/// are written as \u escapes, which JSON reads back as the same characters; bytes that are no UTF-8
/// become U+FFFD.
std::string script_text(const nlohmann::ordered_json& document);

}  // namespace shardsim::report
