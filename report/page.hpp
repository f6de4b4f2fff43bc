// The pages that the build made from web/: HTML documents that need nothing else, with two places
// to fill in.
//
// A page holds its styles and its script; its content security policy allows these alone and no
// request at all. It is bundled by Node.js while building; a build without Node.js has no pages.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace shardsim::report {

enum class Page { run_report, sweep_report, quiz };

/// Whether this build has pages.
bool has_pages();

/// Why there are none, for the user: what to install, and that it has to be built again.
std::string no_pages_message();

/// The quiz with its title, data, and the simulator as the build packed it (empty: none), which is
/// base64.
std::expected<std::string, std::string> fill_quiz_page(std::string_view title,
                                                       const nlohmann::ordered_json& data,
                                                       std::string_view module);

/// The page with a title and data. The error is no_pages_message().
std::expected<std::string, std::string> fill_page(Page page, std::string_view title,
                                                  const nlohmann::ordered_json& data);

/// The same with the page's text given: what stands for `{{title}}` is markup-safe text, for
/// `{{data}}` JSON. Each stands there once.
std::string fill_template(std::string_view page, std::string_view title,
                          const nlohmann::ordered_json& data);

}  // namespace shardsim::report
