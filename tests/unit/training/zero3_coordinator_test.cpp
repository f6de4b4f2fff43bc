// ZeRO-3's fetch orders on a model of six modules: E and H of 4 elements, L0 to L3 of 10.
#include "models/training/zero3_coordinator.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

namespace shardsim::training {
namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
constexpr std::array<std::string_view, 6> names{"E", "L0", "L1", "L2", "L3", "H"};
constexpr std::array<std::int64_t, 6> sizes{4, 10, 10, 10, 10, 4};

/// Runs micro-batches and writes down what the last one did.
class Walk final : private ParameterActions {
 public:
  explicit Walk(const CoordinatorLimits& limits, std::int64_t persistent_up_to = 0)
      : coordinator_(limits, parameters(persistent_up_to), *this) {}

  std::string micro_batch() {
    text_.clear();
    for (ParameterId id = 0; id < names.size(); ++id) pass("F_", id);
    for (ParameterId id = names.size(); id-- > 0;) {
      pass("B_", id);
      write("grad{" + std::string(names[id]) + "}");
    }
    coordinator_.end_micro_batch();
    return text_;
  }
  std::int64_t peak() const { return peak_; }
  Zero3Coordinator& coordinator() { return coordinator_; }

 private:
  static std::vector<CoordinatedParameter> parameters(std::int64_t persistent_up_to) {
    std::vector<CoordinatedParameter> list;
    for (const std::int64_t size : sizes) list.push_back({size, size <= persistent_up_to});
    return list;
  }
  void pass(const char* direction, ParameterId id) {
    coordinator_.fetch({&id, 1});
    write(direction + std::string(names[id]));
    coordinator_.release({&id, 1});
  }
  void write(const std::string& word) { text_ += (text_.empty() ? "" : " ") + word; }
  void write_set(const char* what, std::span<const ParameterId> set) {
    std::string list;
    for (const ParameterId id : set) {
      list += (list.empty() ? "" : ",") + std::string(names[id]);
    }
    write(what + ("{" + list + "}"));
  }
  void all_gather(std::span<const ParameterId> set, bool prefetch) override {
    write_set(prefetch ? "pAG" : "AG", set);
    peak_ = std::max(peak_, coordinator_.live_elements());
  }
  void assemble(ParameterId) override {}
  void wait(std::span<const ParameterId> module) override { write_set("wait", module); }
  void release(std::span<const ParameterId> set) override { write_set("free", set); }

  std::string text_;
  std::int64_t peak_ = 0;
  Zero3Coordinator coordinator_;
};

struct Order {
  CoordinatorLimits limits;
  std::string text;
  std::int64_t peak;
};

void check_traced(const Order& order) {
  Walk walk(order.limits);
  walk.micro_batch();
  CHECK(walk.micro_batch() == order.text);
  CHECK(walk.peak() == order.peak);
  CHECK(walk.micro_batch() == order.text);  // and so on
  CHECK(walk.coordinator().live_elements() == 0);
}

TEST_CASE("the first micro-batch records the trace and fetches on demand alone") {
  Walk walk({unlimited, unlimited, unlimited});
  CHECK(walk.micro_batch() ==
        "AG{E} wait{E} F_E free{E} AG{L0} wait{L0} F_L0 free{L0} AG{L1} wait{L1} F_L1 free{L1} "
        "AG{L2} wait{L2} F_L2 free{L2} AG{L3} wait{L3} F_L3 free{L3} AG{H} wait{H} F_H free{H} "
        "AG{H} wait{H} B_H free{H} grad{H} AG{L3} wait{L3} B_L3 free{L3} grad{L3} AG{L2} wait{L2} "
        "B_L2 free{L2} grad{L2} AG{L1} wait{L1} B_L1 free{L1} grad{L1} AG{L0} wait{L0} B_L0 "
        "free{L0} grad{L0} AG{E} wait{E} B_E free{E} grad{E}");
  CHECK(walk.peak() == 10);
}

TEST_CASE("a bucket of one block prefetches one block ahead") {
  check_traced(
      {{10, unlimited, 0},
       "AG{E} wait{E} pAG{L0} F_E free{E} wait{L0} pAG{L1} F_L0 free{L0} wait{L1} pAG{L2} F_L1 "
       "free{L1} wait{L2} pAG{L3} F_L2 free{L2} wait{L3} pAG{H,L2} F_L3 wait{H} pAG{L1} F_H "
       "free{H} AG{H} wait{H} pAG{L0} B_H free{H} grad{H} wait{L3} pAG{E} B_L3 free{L3} grad{L3} "
       "wait{L2} B_L2 free{L2} grad{L2} wait{L1} B_L1 free{L1} grad{L1} wait{L0} B_L0 free{L0} "
       "grad{L0} wait{E} B_E free{E} grad{E}",
       44});
}

TEST_CASE("a larger bucket runs ahead") {
  check_traced(
      {{25, unlimited, 0},
       "AG{E} wait{E} pAG{L0,L1,L2} F_E free{E} wait{L0} pAG{L3,H,E} F_L0 wait{L1} F_L1 wait{L2} "
       "F_L2 wait{L3} F_L3 wait{H} F_H free{H} AG{H} wait{H} B_H free{H} grad{H} wait{L3} B_L3 "
       "free{L3} grad{L3} wait{L2} B_L2 free{L2} grad{L2} wait{L1} B_L1 free{L1} grad{L1} "
       "wait{L0} B_L0 free{L0} grad{L0} wait{E} B_E free{E} grad{E}",
       48});
}

TEST_CASE("max_live_parameters bounds how far prefetching runs ahead") {
  check_traced(
      {{25, 30, 0},
       "AG{E} wait{E} pAG{L0,L1,L2} F_E free{E} wait{L0} F_L0 free{L0} wait{L1} pAG{L3} F_L1 "
       "free{L1} wait{L2} pAG{H,L1} F_L2 wait{L3} F_L3 wait{H} F_H free{H} AG{H} wait{H} B_H "
       "free{H} grad{H} wait{L3} B_L3 free{L3} grad{L3} wait{L2} pAG{L0} B_L2 free{L2} grad{L2} "
       "wait{L1} pAG{E} B_L1 free{L1} grad{L1} wait{L0} B_L0 free{L0} grad{L0} wait{E} B_E "
       "free{E} grad{E}",
       34});
}

TEST_CASE("max_reuse_distance keeps what backward needs soon") {
  check_traced(
      {{10, unlimited, 20},
       "AG{E} wait{E} pAG{L0} F_E free{E} wait{L0} pAG{L1} F_L0 free{L0} wait{L1} pAG{L2} F_L1 "
       "free{L1} wait{L2} pAG{L3} F_L2 free{L2} wait{L3} pAG{H,L2} F_L3 wait{H} pAG{L1} F_H "
       "wait{H} pAG{L0} B_H free{H} grad{H} wait{L3} pAG{E} B_L3 free{L3} grad{L3} wait{L2} B_L2 "
       "free{L2} grad{L2} wait{L1} B_L1 free{L1} grad{L1} wait{L0} B_L0 free{L0} grad{L0} "
       "wait{E} B_E free{E} grad{E}",
       44});
}

TEST_CASE("limits larger than the model keep everything until backward has used it") {
  check_traced(
      {{10, unlimited, unlimited},
       "AG{E} wait{E} pAG{L0} F_E wait{L0} pAG{L1} F_L0 wait{L1} pAG{L2} F_L1 wait{L2} pAG{L3} "
       "F_L2 wait{L3} pAG{H} F_L3 wait{H} F_H wait{H} B_H free{H} grad{H} wait{L3} B_L3 free{L3} "
       "grad{L3} wait{L2} B_L2 free{L2} grad{L2} wait{L1} B_L1 free{L1} grad{L1} wait{L0} B_L0 "
       "free{L0} grad{L0} wait{E} B_E free{E} grad{E}",
       48});
}

TEST_CASE("persistent parameters are gathered once and stay") {
  Walk walk({0, unlimited, 0}, 4);
  CHECK(walk.micro_batch().find("AG{E}") != std::string::npos);
  const std::string second = walk.micro_batch();
  CHECK(second.find("AG{E}") == std::string::npos);
  CHECK(second.find("free{H}") == std::string::npos);
  CHECK(walk.coordinator().live_elements() == 8);
  walk.coordinator().release_all();
  CHECK(walk.coordinator().live_elements() == 0);
  CHECK(walk.micro_batch() == second);  // the step has gathered them anew
}

}  // namespace
}  // namespace shardsim::training
