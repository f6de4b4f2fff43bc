// Text as part of an HTML or SVG document.
#pragma once

#include <string>
#include <string_view>

namespace shardsim::simcore {

/// `text` for the inside of an element or of an attribute in double quotes: &, <, >, " and ' are
/// written as entities, so that no text can become markup.
std::string html_text(std::string_view text);

}  // namespace shardsim::simcore
