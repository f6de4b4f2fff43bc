#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "models/cuda/allocator_spec.hpp"
#include "simcore/config/yaml_reader.hpp"

using namespace shardsim::cuda;
using namespace shardsim::simcore;

namespace {

AllocatorSpec read(const std::string& text, Diagnostics& diagnostics) {
  const auto source = std::make_shared<const SourceText>(SourceText{"allocator.yaml", text});
  const auto root = read_yaml(source, diagnostics);
  REQUIRE(root);
  return read_config<AllocatorSpec>(*root, diagnostics);
}

}  // namespace

TEST_CASE("allocator options are read with PyTorch's names") {
  Diagnostics diagnostics;
  const AllocatorSpec spec = read(
      "expandable_segments: true\n"
      "max_split_size: 128 MiB\n"
      "roundup_power2_divisions: 8\n"
      "memory_fraction: 90 %\n"
      "garbage_collection_threshold: 0.8\n",
      diagnostics);
  CHECK(diagnostics.all().empty());
  CHECK(spec.expandable_segments);
  CHECK(spec.max_split_size == Bytes{128 << 20});
  CHECK(spec.max_non_split_rounding == Bytes{20 << 20});
  CHECK(spec.roundup_power2_divisions == 8);
  CHECK(spec.memory_fraction == Fraction{0.9});
  CHECK(spec.garbage_collection_threshold == Fraction{0.8});
}

TEST_CASE("an empty map gives PyTorch's defaults") {
  Diagnostics diagnostics;
  CHECK(read("{}\n", diagnostics) == AllocatorSpec{});
  CHECK(diagnostics.all().empty());
}

TEST_CASE("allocator options that PyTorch refuses are errors") {
  for (const std::string text :
       {"max_split_size: 19 MiB\n", "roundup_power2_divisions: 6\n",
        "roundup_power2_divisions: 0\n", "garbage_collection_threshold: 1\n",
        "memory_fraction: 0\n", "memory_fraction: 101 %\n"}) {
    CAPTURE(text);
    Diagnostics diagnostics;
    read(text, diagnostics);
    CHECK(diagnostics.error_count() == 1);
  }
}

TEST_CASE("a garbage collection threshold that has no effect is a warning") {
  Diagnostics diagnostics;
  read("garbage_collection_threshold: 0.8\n", diagnostics);
  REQUIRE(diagnostics.all().size() == 1);
  CHECK(diagnostics.all()[0].severity == Severity::warning);
}
