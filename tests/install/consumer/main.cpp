// A program of somebody else's: schedules an event and prints a quantity.
#include <iostream>

#include "simcore/event_queue.hpp"
#include "simcore/quantity.hpp"

namespace {

class Alarm : public shardsim::simcore::EventReceiver {
 public:
  void on_event(const shardsim::simcore::Event& event) override { rang_at_ = event.time; }
  shardsim::simcore::SimTime rang_at() const { return rang_at_; }

 private:
  shardsim::simcore::SimTime rang_at_;
};

}  // namespace

int main() {
  const auto when = shardsim::simcore::parse_time("2.5 us");
  if (!when) return 1;
  shardsim::simcore::EventQueue queue;
  Alarm alarm;
  queue.schedule(*when, alarm, 0, 0);
  while (queue.step()) {
  }
  std::cout << shardsim::simcore::to_text(alarm.rang_at()) << '\n';
  return alarm.rang_at() == *when ? 0 : 1;
}
