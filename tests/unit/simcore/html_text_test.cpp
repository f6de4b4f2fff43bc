#include "simcore/output/html_text.hpp"

#include <doctest/doctest.h>

namespace shardsim::simcore {
namespace {

TEST_CASE("no text can become markup") {
  CHECK(html_text("<script>alert(\"a & 'b'\")</script>") ==
        "&lt;script&gt;alert(&quot;a &amp; &#39;b&#39;&quot;)&lt;/script&gt;");
  CHECK(html_text("") == "");
  CHECK(html_text("plain \xE0\xA4\xB9") == "plain \xE0\xA4\xB9");
}

}  // namespace
}  // namespace shardsim::simcore
