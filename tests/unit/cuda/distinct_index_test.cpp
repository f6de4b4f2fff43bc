// Entries of a table found by value.
#include "models/cuda/distinct_index.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

namespace shardsim::cuda {

TEST_CASE("each distinct entry stands once, in the order of adding, whatever the hashes") {
  for (const std::size_t spread : {std::size_t{1}, std::size_t{7}, std::size_t{1} << 40U}) {
    CAPTURE(spread);
    DistinctIndex index;
    std::vector<std::string> table;
    const auto add = [&](std::size_t i) {
      const std::string text = "name " + std::to_string(i);
      return index.find_or_add(table, i % spread, std::string_view(text));
    };
    for (std::size_t i = 0; i < 500; ++i) CHECK(add(i) == i);
    for (std::size_t i = 500; i-- > 0;) CHECK(add(i) == i);
    CHECK(table.size() == 500);
    CHECK(table[499] == "name 499");
  }
}

}  // namespace shardsim::cuda
