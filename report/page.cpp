#include "report/page.hpp"

#include <nlohmann/json.hpp>

#include "report/page_texts.hpp"
#include "report/script_text.hpp"
#include "simcore/output/html_text.hpp"

namespace shardsim::report {

namespace {

constexpr std::string_view title_place = "{{title}}";
constexpr std::string_view data_place = "{{data}}";
constexpr std::string_view module_place = "{{module}}";

std::string_view text_of(Page page) {
  switch (page) {
    case Page::run_report:
      return run_report_text();
    case Page::sweep_report:
      return sweep_report_text();
    case Page::quiz:
      return quiz_text();
  }
  return {};
}

}  // namespace

bool has_pages() { return !run_report_text().empty(); }

std::string no_pages_message() {
  return "this build has no viewer, because Node.js or npm was missing or npm could not download "
         "when it was built: install nodejs (18 or later) and npm, delete the build folder and "
         "build again";
}

std::string fill_template(std::string_view page, std::string_view title,
                          const nlohmann::ordered_json& data) {
  const std::size_t title_at = page.find(title_place);
  const std::size_t after_title = title_at + title_place.size();
  const std::size_t data_at = page.find(data_place, after_title);
  if (title_at == std::string_view::npos || data_at == std::string_view::npos) return {};
  std::string text(page.substr(0, title_at));
  text += simcore::html_text(title);
  text += page.substr(after_title, data_at - after_title);
  text += script_text(data);
  text += page.substr(data_at + data_place.size());
  return text;
}

std::expected<std::string, std::string> fill_page(Page page, std::string_view title,
                                                  const nlohmann::ordered_json& data) {
  if (!has_pages()) return std::unexpected(no_pages_message());
  return fill_template(text_of(page), title, data);
}

std::expected<std::string, std::string> fill_quiz_page(std::string_view title,
                                                       const nlohmann::ordered_json& data,
                                                       std::string_view module) {
  auto page = fill_page(Page::quiz, title, data);
  if (!page) return page;
  // The last one: data come before it, and may say anything.
  const std::size_t at = page->rfind(module_place);
  if (at != std::string::npos) page->replace(at, module_place.size(), module);
  return page;
}

}  // namespace shardsim::report
