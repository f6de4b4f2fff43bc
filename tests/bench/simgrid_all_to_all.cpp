// The all-to-all of all_to_all_bench.cpp in SimGrid, on its own fat-tree with its own routing.
//
//     simgrid_all_to_all HOSTS equal|jittered dag|sendto|mailbox [FILE]
//
// `dag`: communications without actors, started before the simulation; `sendto`: an actor per host
// that starts all its communications and waits; `mailbox`: senders and receivers. The fastest
// settings found: no TCP window, no cross traffic, latencies 0, raw contexts (given on the command
// line by compare_simgrid.py). Prints flows, CPU seconds and the last completion.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include <simgrid/kernel/routing/FatTreeZone.hpp>
#include <simgrid/s4u.hpp>

#include "all_to_all_sizes.hpp"

namespace {

namespace sg4 = simgrid::s4u;
using simgrid::kernel::routing::NetPoint;

constexpr int hosts_per_leaf = 16;

std::pair<NetPoint*, NetPoint*> add_host(sg4::NetZone* zone, const std::vector<unsigned long>&,
                                         unsigned long id) {
  const sg4::Host* host = zone->create_host("host" + std::to_string(id), 1e9)->seal();
  return {host->get_netpoint(), nullptr};
}

std::vector<sg4::Host*> build(int hosts) {
  const auto leaves = static_cast<unsigned>(hosts / hosts_per_leaf);
  sg4::ClusterCallbacks callbacks(add_host);
  // Two levels: 16 hosts below a leaf, `leaves` below a spine; 16 spines above a leaf; one cable.
  const sg4::FatTreeParams shape(2, {hosts_per_leaf, leaves}, {1, hosts_per_leaf}, {1, 1});
  sg4::create_fatTree_zone("tree", nullptr, shape, callbacks, 1e10, 0,
                           sg4::Link::SharingPolicy::SPLITDUPLEX)
      ->seal();
  std::vector<sg4::Host*> made;
  for (int i = 0; i < hosts; ++i) {
    made.push_back(sg4::Host::by_name("host" + std::to_string(i)));
  }
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  if (argc < 4) return 2;
  const int hosts = std::atoi(argv[1]);
  const bool jittered = std::string(argv[2]) == "jittered";
  const std::string mode = argv[3];
  const std::clock_t begin = std::clock();
  const std::vector<sg4::Host*> host = build(hosts);
  const auto count = static_cast<std::size_t>(std::max(hosts, 1));
  std::vector<double> sizes(count * count, 0);
  std::vector<double> ends(count * count, 0);
  bench::Sizes next(jittered);
  for (std::size_t from = 0; from < count; ++from) {
    for (std::size_t to = 0; to < count; ++to) {
      if (from != to) sizes[from * count + to] = next.next();
    }
  }
  std::vector<sg4::CommPtr> comms;
  if (mode == "dag") {
    for (std::size_t from = 0; from < count; ++from) {
      for (std::size_t to = 0; to < count; ++to) {
        if (from == to) continue;
        auto comm = sg4::Comm::sendto_init(host[from], host[to]);
        comm->set_payload_size(static_cast<std::uint64_t>(sizes[from * count + to]));
        comm->vetoable_start();
        comms.push_back(comm);
      }
    }
  }
  for (std::size_t from = 0; mode != "dag" && from < count; ++from) {
    sg4::Actor::create("sender", host[from], [&, from] {
      std::vector<sg4::CommPtr> mine;
      std::vector<std::size_t> ids;
      for (std::size_t to = 0; to < count; ++to) {
        if (from == to) continue;
        const auto bytes = static_cast<std::uint64_t>(sizes[from * count + to]);
        static int payload = 0;
        mine.push_back(mode == "sendto" ? sg4::Comm::sendto_async(host[from], host[to], bytes)
                                        : sg4::Mailbox::by_name(std::to_string(from * count + to))
                                              ->put_async(&payload, bytes));
        ids.push_back(from * count + to);
      }
      while (!mine.empty()) {
        const auto done = static_cast<std::size_t>(sg4::Comm::wait_any(mine));
        ends[ids[done]] = sg4::Engine::get_clock();
        mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(done));
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(done));
      }
    });
    if (mode != "mailbox") continue;
    sg4::Actor::create("receiver", host[from], [&, from] {
      std::vector<sg4::CommPtr> mine;
      std::vector<void*> data(count);
      for (std::size_t sender = 0; sender < count; ++sender) {
        if (sender == from) continue;
        mine.push_back(sg4::Mailbox::by_name(std::to_string(sender * count + from))
                           ->get_async<void>(&data[sender]));
      }
      sg4::Comm::wait_all(mine);
    });
  }
  engine.run();
  const double cpu = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  double last = sg4::Engine::get_clock();
  if (mode == "dag") {
    std::size_t i = 0;
    for (std::size_t pair = 0; pair < ends.size(); ++pair) {
      if (pair / count != pair % count) ends[pair] = comms[i++]->get_finish_time();
    }
  }
  std::printf("simgrid all_to_all %s hosts %d flows %d cpu_s %.4f last_s %.12g mode %s\n", argv[2],
              hosts, hosts * (hosts - 1), cpu, last, mode.c_str());
  if (argc < 5) return 0;
  std::FILE* file = std::fopen(argv[4], "w");
  if (file == nullptr) return 1;
  for (const double time : ends) std::fprintf(file, "%.15g\n", time);
  std::fclose(file);
  return 0;
}
