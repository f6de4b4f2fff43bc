#include "simcore/probe.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace shardsim::simcore;

TEST_CASE("listeners hear what happens in the order in which they were added") {
  Probe<int, std::string> probe;
  std::string heard;
  CHECK_FALSE(probe.has_listeners());
  probe(0, "nobody listens");
  probe.listen(
      [&](int number, const std::string& text) { heard += std::to_string(number) + text; });
  probe.listen([&](int, const std::string& text) { heard += "/" + text; });
  CHECK(probe.has_listeners());
  probe(1, "a");
  probe(2, "b");
  CHECK(heard == "1a/a2b/b");
}
