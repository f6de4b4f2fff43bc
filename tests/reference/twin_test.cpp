// The twin's own parts: works that it refuses, checks that catch what is wrong, plans by hand.
#include <doctest/doctest.h>

#include "tests/reference/cpu_run.hpp"
#include "tests/reference/rank_data.hpp"

namespace shardsim::reference {
namespace {

std::vector<TeamLog> run(const Work& work, std::vector<RankBuffers>& buffers) {
  std::vector<RankMemory> memory;
  for (RankBuffers& one : buffers) memory.push_back({one.source_begin(), one.target_begin()});
  return run_on_cpu(plan_of(work), memory);
}

}  // namespace

TEST_CASE("a result that is not there, or off by more than rounding, is found") {
  const Work work = plain_ring(Collective::all_reduce, Protocol::simple, 3, 2, 4096);
  const Plan plan = plan_of(work);
  auto buffers = make_buffers(work, plan, false, 5);
  CHECK(check_rank(work, plan, 0, buffers[0], 5));  // poison
  run(work, buffers);
  CHECK_FALSE(check_rank(work, plan, 0, buffers[0], 5));
  CHECK(check_rank(work, plan, 0, buffers[0], 6));
  float& one = reinterpret_cast<float*>(buffers[1].target_begin())[100];
  one += 1e-5F;
  CHECK(check_rank(work, plan, 1, buffers[1], 5));
  buffers[2].target.back() = std::byte{0};
  CHECK(check_rank(work, plan, 2, buffers[2], 5));
}

TEST_CASE("bytes sent are bytes received, and a ring all-reduce sends 2 (n - 1) / n of its data") {
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    constexpr int ranks = 4;
    constexpr std::int64_t bytes = 480'000;
    const Work work = plain_ring(Collective::all_reduce, protocol, ranks, 3, bytes);
    auto buffers = make_buffers(work, plan_of(work), true, 1);
    std::int64_t sent = 0;
    std::int64_t received = 0;
    for (const TeamLog& team : run(work, buffers)) {
      for (const LogRow& row : team.rows) {
        (row.action == Action::send ? sent : received) += row.bytes;
        CHECK(row.end_ns >= row.start_ns);
      }
    }
    CHECK(sent == received);
    CHECK(sent == 2 * (ranks - 1) * bytes);
  }
}

TEST_CASE("works that these kernels do not know are refused") {
  const std::string head =
      R"({"schema":"shardsim.chunk-work/1","collective":"all_reduce","works":[{"size":8,)"
      R"("algorithm":"Ring","protocol":"LL","ranks":2,"root":0,"step_bytes":65536,)";
  const std::string tail =
      R"("channels":[{"channel":0,"offset":0,"bytes":8,"chunk_bytes":32768,"slices":1,)"
      R"("slice_steps":1,"ring":[0,1]}]}]})";
  CHECK(parse_works(head + R"("element_bytes":4,)" + tail));
  CHECK_FALSE(parse_works(head + R"("element_bytes":2,)" + tail));
  CHECK_FALSE(parse_works(head + R"("element_bytes":4})"));
  CHECK_FALSE(parse_works("{}"));
  CHECK_FALSE(parse_works("no JSON"));
  CHECK_FALSE(read_works("/nowhere/work.json"));
}

}  // namespace shardsim::reference
