#include "models/scenario/checks/flow_check.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "simcore/quantity.hpp"

namespace shardsim::scenario {

using network::FlowId;
using network::LinkId;
using simcore::SimTime;

namespace {

// Sums of doubles in another order than the network's.
constexpr double relative = 1e-9;
constexpr double picosecond = 1e-12;

std::string bytes_text(double bytes) { return fmt::format("{:.17g} bytes", bytes); }
std::string rate_text(double rate) { return fmt::format("{:.17g} bytes/s", rate); }

}  // namespace

FlowCheck::FlowCheck(const network::Graph& graph, CheckLog& log)
    : graph_(graph),
      log_(log),
      carried_(graph.links().size(), 0),
      slack_(graph.links().size(), 0),
      load_(graph.links().size(), 0) {
  bandwidth_.reserve(graph.links().size());
  for (const network::Link& link : graph.links()) {
    bandwidth_.push_back(link.bandwidth.bytes_per_second);
  }
}

void FlowCheck::listen(network::FlowNetwork& flows, const simcore::EventQueue& queue) {
  flows.flow_started.listen(
      [this, &queue](const network::FlowRecord& record) { started(queue.now(), record); });
  flows.flow_moved.listen(
      [this, &queue](const network::FlowRecord& record) { moved(queue.now(), record); });
  flows.flow_ended.listen([this, &queue](const FlowId& flow) { ended(queue.now(), flow); });
  flows.rates_found.listen([this, &flows, &queue] {
    rates_found(queue.now(), [&flows](FlowId flow) { return flows.rate(flow).bytes_per_second; });
  });
  flows.bandwidth_changed.listen([this](const LinkId& link, const simcore::BitRate& bandwidth) {
    bandwidth_changed(link, bandwidth.bytes_per_second);
  });
  flows.statistics_begun.listen([this, &queue] { statistics_begun(queue.now()); });
}

void FlowCheck::started(SimTime now, const network::FlowRecord& record) {
  if (accounts_.size() <= record.flow) accounts_.resize(record.flow + std::size_t{1});
  Account& account = accounts_[record.flow];
  account = Account{};
  account.links.assign(record.links.begin(), record.links.end());
  account.token = record.token;
  account.offered = record.bytes;
  account.cap = record.cap.bytes_per_second;
  account.since = now;
  running_.push_back(record.flow);
}

void FlowCheck::settle(SimTime now, Account& account) {
  account.moved += account.rate * (now - account.since).seconds();
  account.since = now;
}

/// What has moved since the last time goes into the account of the links.
void FlowCheck::credit_links(Account& account) {
  const double bytes = account.moved - account.counted;
  account.counted = account.moved;
  for (const network::LinkUse& use : account.links) {
    carried_[use.link] += use.weight * bytes;
    slack_[use.link] += use.weight * (1 + account.most_rate * picosecond);
  }
}

/// A flow without links and cap ends at once, whatever it has to move.
bool FlowCheck::complete(const Account& account) const {
  if (account.links.empty() && account.cap <= 0) return true;
  const double slack =
      relative * account.offered + 1 + account.most_rate * picosecond * (1 + account.changes);
  return std::abs(account.moved - account.offered) <= slack;
}

void FlowCheck::expect_complete(SimTime now, const Account& account) {
  if (log_.holds(Invariant::flow_bytes, complete(account))) return;
  log_.violated({Invariant::flow_bytes, now, fmt::format("a flow of collective {}", account.token),
                 bytes_text(account.moved) + " delivered",
                 bytes_text(account.offered) + " that were offered"});
}

void FlowCheck::moved(SimTime now, const network::FlowRecord& record) {
  Account& account = accounts_[record.flow];
  settle(now, account);
  credit_links(account);
  const double before = account.offered;
  account.offered -= record.bytes;  // what the old links had to deliver
  expect_complete(now, account);
  account.offered = std::min(before, record.bytes);
  account.moved = account.counted = account.rate = 0;
  account.links.assign(record.links.begin(), record.links.end());
}

void FlowCheck::ended(SimTime now, FlowId flow) {
  const auto at = std::ranges::find(running_, flow);
  if (!log_.holds(Invariant::flow_end, at != running_.end())) {
    log_.violated({Invariant::flow_end, now, fmt::format("flow {}", flow), "a second end",
                   "one end of each flow"});
    return;
  }
  running_.erase(at);
  Account& account = accounts_[flow];
  settle(now, account);
  expect_complete(now, account);
  if (account.links.empty() && account.cap <= 0) account.moved = account.offered;
  credit_links(account);
  account.links.clear();
}

void FlowCheck::rates_found(SimTime now, const std::function<double(FlowId)>& rate_of) {
  bool changed = std::exchange(bandwidths_changed_, false);
  for (const FlowId flow : running_) {
    Account& account = accounts_[flow];
    const double rate = rate_of(flow);
    if (rate == account.rate) continue;
    settle(now, account);
    account.rate = rate;
    account.most_rate = std::max(account.most_rate, rate);
    ++account.changes;
    changed = true;
    const bool within = account.cap <= 0 || rate <= account.cap * (1 + relative);
    if (account.cap > 0 && !log_.holds(Invariant::flow_cap, within)) {
      log_.violated({Invariant::flow_cap, now,
                     fmt::format("a flow of collective {}", account.token), rate_text(rate),
                     "at most " + rate_text(account.cap)});
    }
  }
  if (changed) check_links(now);
}

void FlowCheck::check_links(SimTime now) {
  loaded_.clear();
  for (const FlowId flow : running_) {
    const Account& account = accounts_[flow];
    if (account.rate <= 0) continue;
    for (const network::LinkUse& use : account.links) {
      if (load_[use.link] == 0) loaded_.push_back(use.link);
      load_[use.link] += use.weight * account.rate;
    }
  }
  for (const LinkId link : loaded_) {
    const double load = load_[link];
    load_[link] = 0;
    if (log_.holds(Invariant::link_capacity, load <= bandwidth_[link] * (1 + relative))) continue;
    log_.violated({Invariant::link_capacity, now, graph_.link_name(link), rate_text(load),
                   "at most " + rate_text(bandwidth_[link])});
  }
}

void FlowCheck::bandwidth_changed(LinkId link, double bandwidth) {
  bandwidth_[link] = bandwidth;
  bandwidths_changed_ = true;
}

void FlowCheck::statistics_begun(SimTime now) {
  for (const FlowId flow : running_) {
    settle(now, accounts_[flow]);
    accounts_[flow].counted = accounts_[flow].moved;
  }
  std::ranges::fill(carried_, 0.0);
  std::ranges::fill(slack_, 0.0);
}

void FlowCheck::compare(SimTime now, const network::FlowNetwork& flows) {
  for (const FlowId flow : running_) {
    settle(now, accounts_[flow]);
    credit_links(accounts_[flow]);
  }
  for (LinkId link = 0; link < carried_.size(); ++link) {
    const double bytes = flows.statistics(link).bytes;
    if (bytes != 0 || carried_[link] != 0) compare_link(now, link, bytes);
  }
}

void FlowCheck::compare_link(SimTime now, LinkId link, double bytes) {
  const double slack = 1 + slack_[link] + 100 * relative * carried_[link];
  if (log_.holds(Invariant::link_bytes, std::abs(bytes - carried_[link]) <= slack)) return;
  log_.violated({Invariant::link_bytes, now, graph_.link_name(link), bytes_text(bytes) + " carried",
                 bytes_text(carried_[link]) + " that its flows moved"});
}

void FlowCheck::all_ended(SimTime now) {
  if (log_.holds(Invariant::flow_end, running_.empty())) return;
  const Account& account = accounts_[running_.front()];
  log_.violated({Invariant::flow_end, now, fmt::format("a flow of collective {}", account.token),
                 bytes_text(account.moved) + " delivered",
                 bytes_text(account.offered) + " and an end"});
}

}  // namespace shardsim::scenario
