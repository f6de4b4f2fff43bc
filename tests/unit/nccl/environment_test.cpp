#include "models/nccl/environment.hpp"

#include <doctest/doctest.h>

#include "models/nccl/tuning_constants.hpp"

namespace shardsim::nccl {
namespace {

struct Reading {
  Environment environment;
  simcore::Diagnostics diagnostics;
};

Reading read(const std::map<std::string, std::string>& variables,
             NcclVersion version = newest_version) {
  Reading reading;
  reading.environment = read_environment(variables, version, {}, reading.diagnostics);
  return reading;
}

Permission algorithm(const Reading& reading, Collective collective, Algorithm algorithm) {
  return reading.environment.permissions.algorithms[collective][algorithm];
}
Permission protocol(const Reading& reading, Collective collective, Protocol protocol) {
  return reading.environment.permissions.protocols[collective][protocol];
}

}  // namespace

using enum Permission;

TEST_CASE("a list names what may be used, in any case of letters") {
  const Reading reading = read({{"NCCL_ALGO", "RING,tree"}, {"NCCL_PROTO", "Simple"}});
  CHECK(reading.diagnostics.all().empty());
  for (const Collective collective : all_collectives) {
    CHECK(algorithm(reading, collective, Algorithm::ring) == allowed);
    CHECK(algorithm(reading, collective, Algorithm::tree) == allowed);
    CHECK(algorithm(reading, collective, Algorithm::nvls) == refused);
    CHECK(protocol(reading, collective, Protocol::ll128) == refused);
  }
}

TEST_CASE("a list that begins with ^ names what may not, and allows LL128 outright") {
  const Reading reading = read({{"NCCL_PROTO", "^LL"}});
  CHECK(protocol(reading, Collective::all_reduce, Protocol::ll) == refused);
  CHECK(protocol(reading, Collective::all_reduce, Protocol::ll128) == allowed);
  CHECK(protocol(read({}), Collective::all_reduce, Protocol::ll128) == where_safe);
}

TEST_CASE("from 2.24 a list may go by collective") {
  const Reading reading = read({{"NCCL_ALGO", "ring;allreduce:tree,nvls;broadcast:^pat"}});
  CHECK(reading.diagnostics.all().empty());
  CHECK(algorithm(reading, Collective::all_gather, Algorithm::tree) == refused);
  CHECK(algorithm(reading, Collective::all_reduce, Algorithm::ring) == refused);
  CHECK(algorithm(reading, Collective::all_reduce, Algorithm::nvls) == allowed);
  CHECK(algorithm(reading, Collective::broadcast, Algorithm::tree) == allowed);
}

TEST_CASE("what a list cannot mean is an error, and the defaults stay") {
  for (const std::string value : {"rings", "ring;tree", "allreduced:ring"}) {
    const Reading reading = read({{"NCCL_ALGO", value}});
    CHECK(reading.diagnostics.error_count() == 1);
    CHECK(algorithm(reading, Collective::all_reduce, Algorithm::nvls) == allowed);
  }
  CHECK(read({{"NCCL_ALGO", "rings"}}).diagnostics.all().front().suggestion == "Ring");
}

TEST_CASE("before 2.24 unknown names in a list were passed over") {
  const Reading reading = read({{"NCCL_ALGO", "ring,rings"}}, {23, 4});
  CHECK_FALSE(reading.diagnostics.has_errors());
  CHECK(reading.diagnostics.all().size() == 1);
  CHECK(algorithm(reading, Collective::all_reduce, Algorithm::ring) == allowed);
  CHECK(algorithm(reading, Collective::all_reduce, Algorithm::tree) == refused);
}

TEST_CASE("numbers are read as NCCL reads them") {
  const Reading reading = read({{"NCCL_BUFFSIZE", "0x100000"},
                                {"NCCL_MAX_NCHANNELS", "010"},
                                {"NCCL_CROSS_NIC", "-2"},
                                {"NCCL_MIN_NRINGS", "2"},
                                {"NCCL_MIN_NCHANNELS", "4"},
                                {"NCCL_NTHREADS", ""}});
  REQUIRE(reading.diagnostics.all().size() == 1);
  CHECK(reading.diagnostics.all().front().message ==
        "NCCL_NTHREADS is empty, and taken for not set");
  CHECK(reading.environment.buffer_bytes == 1 << 20);
  CHECK(reading.environment.most_channels == 8);
  CHECK_FALSE(reading.environment.cross_nic.has_value());
  CHECK(reading.environment.least_channels == 4);
  CHECK_FALSE(reading.environment.threads.has_value());
}

TEST_CASE("numbers that NCCL would misread or clamp are errors") {
  const std::map<std::string, std::string> wrong{
      {"NCCL_BUFFSIZE", "4M"},   {"NCCL_NTHREADS", "100"},        {"NCCL_NTHREADS ", "1"},
      {"NCCL_CROSS_NIC", "3"},   {"NCCL_MAX_NCHANNELS", "65"},    {"NCCL_P2P_LEVEL", "NEAR"},
      {"NCCL_SHM_DISABLE", "x"}, {"NCCL_NETDEVS_POLICY", "MAX:0"}};
  for (const auto& [name, value] : wrong) {
    CAPTURE(name);
    CHECK(read({{name, value}}).diagnostics.all().size() == 1);
  }
}

TEST_CASE("levels are names, or the numbers of old") {
  CHECK(parse_path_level("PXB") == PathType::pxb);
  CHECK(parse_path_level("3") == PathType::phb);
  CHECK(parse_path_level("9") == PathType::sys);
  CHECK_FALSE(parse_path_level("NET").has_value());
  CHECK_FALSE(parse_path_level("pxb").has_value());
}

TEST_CASE("variables that this model does not heed are named, with the reason") {
  const Reading reading = read({{"NCCL_CTA_POLICY", "ZERO"}, {"NCCL_IB_TC", "106"}});
  REQUIRE(reading.diagnostics.all().size() == 2);
  CHECK_FALSE(reading.diagnostics.has_errors());
  for (const simcore::Diagnostic& one : reading.diagnostics.all()) {
    CHECK(one.message.find("has no effect in this model, because") != std::string::npos);
  }
}

TEST_CASE("sizes and counts are bound by the int that NCCL keeps them in") {
  for (const char* name : {"NCCL_BUFFSIZE", "NCCL_LL_BUFFSIZE", "NCCL_LL128_BUFFSIZE",
                           "NCCL_NVLS_CHUNKSIZE", "NCCL_P2P_NET_CHUNKSIZE", "NCCL_CHUNK_SIZE",
                           "NCCL_P2P_PER_CHANNEL_NET_BW", "NCCL_NET_OVERHEAD"}) {
    CAPTURE(name);
    CHECK_FALSE(read({{name, "2147483647"}}).diagnostics.has_errors());
    CHECK(read({{name, "2147483648"}}).diagnostics.has_errors());
  }
}

TEST_CASE("what NCCL would quietly take for another value is told") {
  const std::vector<std::pair<std::string, std::string>> odd{
      {"NCCL_P2P_LEVEL", "99"}, {"NCCL_NET_GDR_LEVEL", "5"}, {"NCCL_NET", "foo"},
      {"NCCL_NET", ""},         {"NCCL_P2P_LEVEL", ""},      {"NCCL_ALGO", ""}};
  for (const auto& [name, value] : odd) {
    CAPTURE(name);
    const Reading reading = read({{name, value}});
    CHECK(reading.diagnostics.all().size() == 1);
    CHECK_FALSE(reading.diagnostics.has_errors());
  }
  for (const char* usual : {"IB", "ib", "Socket", "socket"}) {
    CHECK(read({{"NCCL_NET", usual}}).diagnostics.all().empty());
  }
  CHECK(read({{"NCCL_NET", "Sockets"}}).diagnostics.all().front().suggestion == "Socket");
  CHECK(read({{"NCCL_MIN_CTAS", "8"}, {"NCCL_MAX_CTAS", "4"}}).diagnostics.all().size() == 1);
  CHECK(read({{"NCCL_MIN_CTAS", "4"}, {"NCCL_MAX_CTAS", "4"}}).diagnostics.all().empty());
}

TEST_CASE("names that NCCL does not have are pointed out") {
  const Reading other = read({{"PATH", "/bin"}});
  REQUIRE(other.diagnostics.all().size() == 1);
  CHECK_FALSE(other.diagnostics.has_errors());
  CHECK(nearest_nccl_name("nccl_algo") == "NCCL_ALGO");
  const Reading reading = read({{"NCCL_ALGOS", "ring"}, {"NCCL_DEBUG", "INFO"}});
  REQUIRE(reading.diagnostics.all().size() == 1);
  CHECK_FALSE(reading.diagnostics.has_errors());
  CHECK(reading.diagnostics.all().front().suggestion == "NCCL_ALGO");
  CHECK(read({{"NCCL_IB_TCC", "106"}}).diagnostics.all().front().suggestion == "NCCL_IB_TC");
}

}  // namespace shardsim::nccl
