// A ring all-gather message by message in SimGrid: every rank sends what it has just received.
//
//     simgrid_ring HOSTS mailbox|detached|dag
//
// Hosts hang on a star, each by a link of 10^10 bytes/s; messages are of 10^9 bytes over the number
// of hosts. `mailbox`: an actor per host that sends, receives and waits; `detached`: that does not
// wait for its sends; `dag`: communications without actors, each started by the one before it.
// Prints messages, CPU seconds and messages per CPU second.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>

namespace {

namespace sg4 = simgrid::s4u;

std::vector<sg4::Host*> build(int hosts) {
  sg4::NetZone* zone = sg4::create_star_zone("star");
  std::vector<sg4::Host*> made;
  for (int i = 0; i < hosts; ++i) {
    sg4::Host* host = zone->create_host("host" + std::to_string(i), 1e9);
    const sg4::Link* link =
        zone->create_split_duplex_link("link" + std::to_string(i), 1e10)->set_latency(0)->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr,
                    {{link, sg4::LinkInRoute::Direction::UP}}, true);
    made.push_back(host);
  }
  zone->seal();
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  if (argc < 3) return 2;
  const int hosts = std::atoi(argv[1]);
  const std::string mode = argv[2];
  const std::clock_t begin = std::clock();
  const std::vector<sg4::Host*> host = build(hosts);
  const auto count = static_cast<std::size_t>(hosts);
  const auto bytes = static_cast<std::uint64_t>(1'000'000'000 / hosts);
  static int payload = 0;
  std::vector<sg4::CommPtr> comms;
  if (mode == "dag") {
    comms.reserve(count * (count - 1));
    for (std::size_t step = 0; step + 1 < count; ++step) {
      for (std::size_t i = 0; i < count; ++i) {
        auto comm = sg4::Comm::sendto_init(host[i], host[(i + 1) % count]);
        comm->set_payload_size(bytes);
        if (step > 0) {
          comms[(step - 1) * count + (i + count - 1) % count]->add_successor(comm);
          comms[(step - 1) * count + i]->add_successor(comm);
        }
        comms.push_back(comm);
      }
    }
    for (auto& comm : comms) comm->vetoable_start();
  }
  for (std::size_t i = 0; mode != "dag" && i < count; ++i) {
    sg4::Actor::create("rank", host[i], [&, i] {
      sg4::Mailbox* out = sg4::Mailbox::by_name(std::to_string(i));
      sg4::Mailbox* in = sg4::Mailbox::by_name(std::to_string((i + count - 1) % count));
      for (std::size_t step = 0; step + 1 < count; ++step) {
        if (mode == "detached") {
          out->put_init(&payload, bytes)->detach();
          in->get<int>();
        } else {
          sg4::CommPtr sent = out->put_async(&payload, bytes);
          in->get<int>();
          sent->wait();
        }
      }
    });
  }
  engine.run();
  const double cpu = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  const double messages = static_cast<double>(count) * static_cast<double>(count - 1);
  std::printf(
      "simgrid ring hosts %d messages %.0f cpu_s %.4f messages_per_s %.0f last_s %.12g mode %s\n",
      hosts, messages, cpu, messages / cpu, sg4::Engine::get_clock(), mode.c_str());
  return 0;
}
