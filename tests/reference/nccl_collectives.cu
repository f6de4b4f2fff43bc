// reference_nccl --points FILE --tables FILE [--name PREFIX] [--collectives all_reduce,...]
//                [--algo A] [--proto P] [-b BYTES] [-e BYTES] [-f FACTOR] [--iterations N]
//                [--intra-node TEXT] [--inter-node TEXT]
//                [--rank R --processes N --id-file PATH]
//
// Times NCCL's own collectives as nccl-tests does (float, out of place, iterations back to back)
// and writes what `shardsim validate --collectives POINTS --tables TABLES` reads; files are
// appended to, so that several algorithms and protocols become one pair. NCCL reads NCCL_ALGO and
// NCCL_PROTO once: another choice needs another run of this program.
//
// Alone it drives all GPUs of the machine. With several processes (one a node, all GPUs of each),
// rank 0 puts NCCL's id into a file that all can read, and writes the tables. Exit status 3 with
// fewer than two GPUs.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <cuda_runtime.h>
#include <nccl.h>

#include "tests/reference/cuda_check.cuh"

namespace shardsim::reference {
namespace {

using reference::check;

void check(ncclResult_t status, const char* what) {
  if (status != ncclSuccess) {
    throw std::runtime_error(std::string(what) + ": " + ncclGetErrorString(status));
  }
}

struct Settings {
  std::string points;
  std::string tables;
  std::string name = "measured";
  std::string collectives =
      "all_reduce,all_gather,reduce_scatter,broadcast,reduce,alltoall,sendrecv";
  std::string algorithm;
  std::string protocol;
  std::string intra_node;
  std::string inter_node;
  std::string id_file;
  std::size_t begin = 8;
  std::size_t end = std::size_t{1} << 30;
  std::size_t factor = 2;
  int iterations = 20;
  int rank = 0;
  int processes = 1;
};

/// A GPU of this process in the communicator.
struct Member {
  int device = 0;
  ncclComm_t communicator{};
  cudaStream_t stream{};
  std::unique_ptr<DeviceArray<float>> source;
  std::unique_ptr<DeviceArray<float>> target;
  std::unique_ptr<DeviceArray<double>> time;
};

ncclUniqueId shared_id(const Settings& s) {
  ncclUniqueId id{};
  if (s.rank == 0) {
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    if (s.processes == 1) return id;
    // Written whole, then given its name: readers see all of it or nothing.
    const std::string part = s.id_file + ".part";
    std::ofstream(part, std::ios::binary).write(id.internal, sizeof id.internal);
    if (std::rename(part.c_str(), s.id_file.c_str()) != 0) {
      throw std::runtime_error(s.id_file + ": cannot be written");
    }
    return id;
  }
  for (int tries = 0; tries < 600; ++tries) {
    std::ifstream in(s.id_file, std::ios::binary);
    if (in.read(id.internal, sizeof id.internal)) return id;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  throw std::runtime_error(s.id_file + ": rank 0 wrote no id within a minute");
}

class Cluster {
 public:
  Cluster(const Settings& settings, int gpus) : s_(settings), gpus_(gpus) {
    const ncclUniqueId id = shared_id(s_);
    members_.resize(static_cast<std::size_t>(gpus));
    check(ncclGroupStart(), "ncclGroupStart");
    for (int i = 0; i < gpus; ++i) {
      Member& m = members_[static_cast<std::size_t>(i)];
      m.device = i;
      check(cudaSetDevice(i), "cudaSetDevice");
      check(cudaStreamCreateWithFlags(&m.stream, cudaStreamNonBlocking), "cudaStreamCreate");
      const std::size_t floats = std::max<std::size_t>(s_.end / sizeof(float), 1);
      m.source = std::make_unique<DeviceArray<float>>(floats);
      m.target = std::make_unique<DeviceArray<float>>(floats);
      m.time = std::make_unique<DeviceArray<double>>(1);
      m.source->zero();
      check(ncclCommInitRank(&m.communicator, ranks(), id, s_.rank * gpus + i), "ncclCommInitRank");
    }
    check(ncclGroupEnd(), "ncclGroupEnd");
  }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  ~Cluster() {
    for (Member& m : members_) {
      ncclCommDestroy(m.communicator);
      cudaStreamDestroy(m.stream);
    }
  }

  int ranks() const { return gpus_ * s_.processes; }

  /// Time of one collective, us, on the slowest process; `bytes` as nccl-tests counts them.
  double time_us(const std::string& collective, std::size_t bytes) {
    const int warm_up = 5;
    for (int i = 0; i < warm_up; ++i) issue(collective, bytes);
    synchronize();
    barrier();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < s_.iterations; ++i) issue(collective, bytes);
    synchronize();
    const auto end = std::chrono::steady_clock::now();
    return slowest(std::chrono::duration<double, std::micro>(end - begin).count() / s_.iterations);
  }

 private:
  void issue(const std::string& collective, std::size_t bytes) {
    check(ncclGroupStart(), "ncclGroupStart");
    for (Member& m : members_) issue(collective, bytes, m);
    check(ncclGroupEnd(), "ncclGroupEnd");
  }

  void issue(const std::string& collective, std::size_t bytes, Member& m) {
    const std::size_t all = bytes / sizeof(float);
    const std::size_t part = all / static_cast<std::size_t>(ranks());
    const float* const from = m.source->begin();
    float* const to = m.target->begin();
    const int me = s_.rank * gpus_ + m.device;
    if (collective == "all_reduce") {
      check(ncclAllReduce(from, to, all, ncclFloat, ncclSum, m.communicator, m.stream), "run");
    } else if (collective == "all_gather") {
      check(ncclAllGather(from, to, part, ncclFloat, m.communicator, m.stream), "run");
    } else if (collective == "reduce_scatter") {
      check(ncclReduceScatter(from, to, part, ncclFloat, ncclSum, m.communicator, m.stream), "run");
    } else if (collective == "broadcast") {
      check(ncclBroadcast(from, to, all, ncclFloat, 0, m.communicator, m.stream), "run");
    } else if (collective == "reduce") {
      check(ncclReduce(from, to, all, ncclFloat, ncclSum, 0, m.communicator, m.stream), "run");
    } else if (collective == "alltoall") {
      for (int peer = 0; peer < ranks(); ++peer) {
        const std::size_t at = part * static_cast<std::size_t>(peer);
        check(ncclSend(from + at, part, ncclFloat, peer, m.communicator, m.stream), "run");
        check(ncclRecv(to + at, part, ncclFloat, peer, m.communicator, m.stream), "run");
      }
    } else if (collective == "sendrecv") {
      const int next = (me + 1) % ranks();
      const int previous = (me + ranks() - 1) % ranks();
      check(ncclSend(from, all, ncclFloat, next, m.communicator, m.stream), "run");
      check(ncclRecv(to, all, ncclFloat, previous, m.communicator, m.stream), "run");
    } else {
      throw std::runtime_error("there is no collective '" + collective + "'");
    }
  }

  void synchronize() {
    for (Member& m : members_) {
      check(cudaSetDevice(m.device), "cudaSetDevice");
      check(cudaStreamSynchronize(m.stream), "collectives");
    }
  }

  void barrier() { slowest(0); }

  double slowest(double value) {
    for (Member& m : members_) {
      check(cudaSetDevice(m.device), "cudaSetDevice");
      m.time->from_host(&value);
    }
    check(ncclGroupStart(), "ncclGroupStart");
    for (Member& m : members_) {
      check(ncclAllReduce(m.time->begin(), m.time->begin(), 1, ncclDouble, ncclMax, m.communicator,
                          m.stream),
            "slowest");
    }
    check(ncclGroupEnd(), "ncclGroupEnd");
    synchronize();
    members_.front().time->to_host(&value);
    return value;
  }

  const Settings& s_;
  int gpus_;
  std::vector<Member> members_;
};

/// The file's end, with a header where it is new.
std::ofstream appended(const std::string& file, const char* header) {
  const bool is_new = std::ifstream(file).peek() == std::ifstream::traits_type::eof();
  std::ofstream out(file, std::ios::app);
  if (!out) throw std::runtime_error(file + ": cannot be written");
  if (is_new) out << header << '\n';
  return out;
}

std::string version_text() {
  int version = 0;
  check(ncclGetVersion(&version), "ncclGetVersion");
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

void measure(const Settings& s, int gpus) {
  Cluster cluster(s, gpus);
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  std::string gpu = properties.name;
  if (gpu.rfind("NVIDIA ", 0) == 0) gpu = gpu.substr(7);
  std::string env;
  if (!s.algorithm.empty()) env += "NCCL_ALGO=" + s.algorithm;
  if (!s.protocol.empty()) env += (env.empty() ? "" : ";") + ("NCCL_PROTO=" + s.protocol);
  std::istringstream names(s.collectives);
  for (std::string name; std::getline(names, name, ',');) {
    std::string table = s.name + "_" + name;
    if (!s.algorithm.empty()) table += "_" + s.algorithm;
    if (!s.protocol.empty()) table += "_" + s.protocol;
    const bool reduces = name == "all_reduce" || name == "reduce_scatter" || name == "reduce";
    if (s.rank == 0) {
      appended(s.tables,
               "table,site,gpu,gpus_per_node,nodes,ranks,intra_node,inter_node,nccl_version,env,"
               "collective,"
               "redop,dtype,note")
          << table << ',' << s.name << ',' << gpu << ',' << gpus << ',' << s.processes << ','
          << cluster.ranks() << ",\"" << s.intra_node << "\",\"" << s.inter_node << "\","
          << version_text() << ",\"" << env << "\"," << name << ',' << (reduces ? "sum" : "")
          << ",float,"
          << (s.processes == 1 ? "single process" : "a process for each node: single process")
          << '\n';
    }
    for (std::size_t bytes = s.begin; bytes <= s.end; bytes *= s.factor) {
      // Whole elements for each rank, as nccl-tests has them.
      const bool parts = name == "all_gather" || name == "reduce_scatter" || name == "alltoall";
      const std::size_t grain =
          sizeof(float) * (parts ? static_cast<std::size_t>(cluster.ranks()) : 1);
      const std::size_t carried = bytes / grain * grain;
      if (carried == 0) continue;
      const double us = cluster.time_us(name, carried);
      if (s.rank != 0) continue;
      char row[160];
      std::snprintf(row, sizeof row, "%s,%zu,%.3f\n", table.c_str(), carried, us);
      appended(s.points, "table,bytes,time_us") << row;
      std::printf("%s", row);
      std::fflush(stdout);
    }
  }
}

bool parse(int argc, char** argv, Settings& s) {
  struct Text {
    const char* name;
    std::string* place;
  };
  const std::array texts{Text{"--points", &s.points},
                         Text{"--tables", &s.tables},
                         Text{"--name", &s.name},
                         Text{"--collectives", &s.collectives},
                         Text{"--algo", &s.algorithm},
                         Text{"--proto", &s.protocol},
                         Text{"--intra-node", &s.intra_node},
                         Text{"--inter-node", &s.inter_node},
                         Text{"--id-file", &s.id_file}};
  if (argc % 2 == 0) return false;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const char* const value = argv[i + 1];
    const auto text = std::find_if(texts.begin(), texts.end(),
                                   [&name](const Text& one) { return name == one.name; });
    const auto number = static_cast<std::size_t>(std::strtoull(value, nullptr, 10));
    if (text != texts.end()) {
      *text->place = value;
    } else if (name == "-b") {
      s.begin = number;
    } else if (name == "-e") {
      s.end = number;
    } else if (name == "-f") {
      s.factor = number;
    } else if (name == "--iterations") {
      s.iterations = static_cast<int>(number);
    } else if (name == "--rank") {
      s.rank = static_cast<int>(number);
    } else if (name == "--processes") {
      s.processes = static_cast<int>(number);
    } else {
      return false;
    }
  }
  return !s.points.empty() && !s.tables.empty() && s.begin > 0 && s.factor > 1 &&
         s.iterations > 0 && s.processes > 0 && s.rank >= 0 && s.rank < s.processes &&
         (s.processes == 1 || !s.id_file.empty());
}

}  // namespace
}  // namespace shardsim::reference

int main(int argc, char** argv) {
  using namespace shardsim::reference;
  Settings settings;
  if (!parse(argc, argv, settings)) {
    std::fprintf(stderr,
                 "usage: %s --points FILE --tables FILE [--name PREFIX] [--collectives LIST]\n"
                 "       [--algo A] [--proto P] [-b BYTES] [-e BYTES] [-f FACTOR]\n"
                 "       [--iterations N] [--intra-node TEXT] [--inter-node TEXT]\n"
                 "       [--rank R --processes N --id-file PATH]\n",
                 argv[0]);
    return 2;
  }
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess) gpus = 0;
  if (gpus * settings.processes < 2) {
    std::fprintf(stderr,
                 "%s: there %s on this machine; NCCL's collectives need two or more. One GPU's "
                 "blocks as ranks: reference_virtual_ranks\n",
                 argv[0], gpus == 0 ? "is no GPU" : "is one GPU");
    return 3;
  }
  if (!settings.algorithm.empty()) setenv("NCCL_ALGO", settings.algorithm.c_str(), 1);
  if (!settings.protocol.empty()) setenv("NCCL_PROTO", settings.protocol.c_str(), 1);
  try {
    measure(settings, gpus);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s: %s\n", argv[0], problem.what());
    return 1;
  }
  return 0;
}
