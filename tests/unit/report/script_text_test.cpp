// Data in a page: no text may become markup.
#include "report/script_text.hpp"

#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "report/page.hpp"

namespace shardsim::report {
namespace {

using Json = nlohmann::ordered_json;

TEST_CASE("no text can end a script element, open a comment or write an entity") {
  const Json document{{"</script><script>alert(1)</script>", "<!-- &lt; ]]>"}};
  const std::string text = script_text(document);
  CHECK(text.find('<') == std::string::npos);
  CHECK(text.find('>') == std::string::npos);
  CHECK(text.find('&') == std::string::npos);
}

TEST_CASE("the separators that end a line of JavaScript are escaped") {
  const std::string text =
      script_text(Json("a\xe2\x80\xa8"
                       "b\xe2\x80\xa9"
                       "c\xe2\x80\xa6"));
  CHECK(text == "\"a\\u2028b\\u2029c\xe2\x80\xa6\"");
}

TEST_CASE("what is escaped reads back as it was") {
  const Json document{{"name", "</SCRIPT> <!-- & \xe2\x80\xa8 \" \\ \n \xe0\xa4\x95"}, {"x", 1.5}};
  CHECK(Json::parse(script_text(document)) == document);
}

TEST_CASE("bytes that are no UTF-8 become replacement characters") {
  CHECK(script_text(Json("a\xff")) == "\"a\xef\xbf\xbd\"");
}

TEST_CASE("a page is filled with its title as text and its data as JSON") {
  const std::string page =
      fill_template("<title>{{title}}</title><script>{{data}}</script>", "a </title> & {{data}}",
                    Json{{"name", "{{title}}</script>"}});
  CHECK(page ==
        "<title>a &lt;/title&gt; &amp; {{data}}</title>"
        "<script>{\"name\":\"{{title}}\\u003c/script\\u003e\"}</script>");
}

TEST_CASE("a page without its places cannot be filled") {
  CHECK(fill_template("<title></title>{{data}}", "a", Json{}).empty());
  CHECK(fill_template("{{title}}", "a", Json{}).empty());
}

}  // namespace
}  // namespace shardsim::report
