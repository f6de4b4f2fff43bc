#include "report/stream_timeline.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/cuda/collective_name.hpp"
#include "models/cuda/program_recorder.hpp"
#include "models/scenario/dependencies.hpp"
#include "models/scenario/step_analysis.hpp"

namespace shardsim::report {

namespace {

using Json = nlohmann::ordered_json;
using cuda::KernelCategory;
using cuda::OpCode;
using scenario::Cause;
using scenario::CauseKind;
using simcore::SimTime;

struct Bar {
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::int64_t moves = 0;
  std::size_t name = 0;
  std::size_t kind = 0;
  std::int64_t count = 1;
};

/// Numbers for texts, in the order in which they first came.
class Index {
 public:
  std::size_t of(const std::string& text) {
    const auto [place, fresh] = numbers_.emplace(text, texts_.size());
    if (fresh) texts_.push_back(text);
    return place->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::string> texts_;
};

const char* class_of(KernelCategory category) {
  if (category == KernelCategory::copy) return "copy";
  return category == KernelCategory::optimizer ? "optimizer" : "compute";
}

class Gatherer {
 public:
  Gatherer(const scenario::StepLog& log, std::size_t most)
      : log_(log), most_(most), dependencies_(log), streams_(log.program->streams.size()) {}

  Json gather() {
    for (std::uint32_t op = log_.first_op; op <= log_.last_op; ++op) {
      if (log_.ran(op)) add(op);
    }
    for (std::vector<Bar>& bars : streams_) {
      std::ranges::stable_sort(bars, {}, &Bar::start);
    }
    const std::size_t operations = count();
    const std::int64_t below = join_to_limit();
    Json data{{"rank", log_.rank}, {"step_ns", nanoseconds(log_.end)}};
    data["kinds"] = kinds_json();
    data["streams"] = streams_json();
    data["names"] = names_.texts();
    data["gaps"] = gaps_json();
    data["operations"] = operations;
    data["drawn"] = count();
    data["joined_below_ns"] = below;
    return data;
  }

 private:
  std::int64_t nanoseconds(SimTime time) const {
    return std::llround(static_cast<double>((time - log_.begin).picoseconds()) * 1e-3);
  }

  std::size_t count() const {
    std::size_t sum = 0;
    for (const std::vector<Bar>& bars : streams_) sum += bars.size();
    return sum;
  }

  void add(std::uint32_t op) {
    const cuda::Op& entry = log_.program->ops[op];
    const cuda::OpRecord& record = log_.record(op);
    Bar bar{nanoseconds(record.start), nanoseconds(record.end)};
    bar.moves = bar.start;
    bar.name = names_.of(log_.program->names[entry.name]);
    if (entry.code == OpCode::collective) {
      const cuda::CollectiveSpec& spec = log_.program->collectives[entry.index];
      bar.moves = nanoseconds(dependencies_.transfer_start(op));
      bar.kind = kind(std::string(cuda::collective_name(spec.kind)) + " (" +
                          log_.program->communicators[spec.communicator] + ")",
                      "communication");
    } else {
      const cuda::KernelSpec& spec = log_.program->kernels[entry.index];
      bar.kind = kind(std::string(scenario::category_name(spec.category)) +
                          (spec.recompute ? " (recomputed)" : ""),
                      class_of(spec.category));
    }
    streams_[entry.stream].push_back(bar);
  }

  std::size_t kind(const std::string& name, const char* of_class) {
    const std::size_t number = kinds_.of(name);
    if (number == classes_.size()) classes_.emplace_back(of_class);
    return number;
  }

  /// Which neighbours may be one bar.
  enum class Alike { kind, of_class, any };

  /// Joins ever longer neighbours, first of one kind, then of one class, in the end any, until
  /// there are few enough; returns how long they were at most, 0 if none was joined.
  std::int64_t join_to_limit() {
    const std::int64_t step = std::max<std::int64_t>(1, nanoseconds(log_.end));
    std::int64_t below = 0;
    while (count() > most_ && below < 2 * step) {
      below = below == 0 ? std::max<std::int64_t>(1, step / 1'000'000) : below * 2;
      for (std::vector<Bar>& bars : streams_) join(bars, below, Alike::kind);
      if (count() <= most_) break;
      const Alike alike = below * 256 > step ? Alike::any : Alike::of_class;
      for (std::vector<Bar>& bars : streams_) join(bars, below, alike);
    }
    return below;
  }

  bool are_alike(const Bar& a, const Bar& b, Alike alike) const {
    return a.kind == b.kind || alike == Alike::any ||
           (alike == Alike::of_class && classes_[a.kind] == classes_[b.kind]);
  }

  /// Joins neighbours that are no further apart than `below` and of which one is no longer than
  /// that; what they make is of the kind of the longer one.
  void join(std::vector<Bar>& bars, std::int64_t below, Alike alike) const {
    std::vector<Bar> joined;
    for (const Bar& bar : bars) {
      Bar* last = joined.empty() ? nullptr : &joined.back();
      const bool joins = last != nullptr && are_alike(*last, bar, alike) &&
                         bar.start - last->end <= below &&
                         std::min(last->end - last->start, bar.end - bar.start) <= below;
      if (!joins) {
        joined.push_back(bar);
        continue;
      }
      if (bar.end - bar.start > last->end - last->start) last->kind = bar.kind;
      last->end = std::max(last->end, bar.end);
      last->count += bar.count;
    }
    bars = std::move(joined);
  }

  Json kinds_json() const {
    Json list = Json::array();
    for (std::size_t i = 0; i < classes_.size(); ++i) {
      list.push_back({{"name", kinds_.texts()[i]}, {"class", classes_[i]}});
    }
    return list;
  }

  Json streams_json() const {
    Json list = Json::array();
    for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
      Json columns{{"name", log_.program->streams[stream].name}};
      for (const char* key : {"start_ns", "end_ns", "moves_ns", "name_index", "kind", "count"}) {
        columns[key] = Json::array();
      }
      for (const Bar& bar : streams_[stream]) {
        columns["start_ns"].push_back(bar.start);
        columns["end_ns"].push_back(bar.end);
        columns["moves_ns"].push_back(bar.moves);
        columns["name_index"].push_back(bar.name);
        columns["kind"].push_back(bar.kind);
        columns["count"].push_back(bar.count);
      }
      list.push_back(std::move(columns));
    }
    return list;
  }

  void add_gap(const Cause& cause) {
    if (cause.to <= cause.from) return;
    int stream = -1;
    const char* why = "cpu";
    if (cause.kind == CauseKind::collective || cause.kind == CauseKind::peers ||
        cause.kind == CauseKind::kernel) {
      stream = log_.program->ops[cause.op].stream;
      why = cause.kind == CauseKind::collective ? "communication"
            : cause.kind == CauseKind::peers    ? "peers"
                                                : "copy";
    }
    gaps_.push_back({nanoseconds(cause.from), nanoseconds(cause.to), stream, why});
  }

  /// As the critical path books them, so that their sums are the result's figures.
  Json gaps_json() {
    SimTime covered = log_.begin;
    const auto visit = [this](const Cause& cause) { add_gap(cause); };
    for (const std::uint32_t op :
         dependencies_.stream_operations(cuda::ProgramRecorder::compute_stream)) {
      const cuda::OpRecord& record = log_.record(op);
      if (record.start > covered) dependencies_.explain_start(op, covered, visit);
      covered = std::max(covered, record.end);
      if (log_.program->ops[op].code == OpCode::collective) {
        add_gap(Cause{CauseKind::collective, op, record.start, record.end});
      }
    }
    if (log_.end > covered) dependencies_.explain_end(covered, visit);
    std::ranges::stable_sort(gaps_, {}, &Gap::start);
    thin_gaps();
    Json columns;
    for (const char* key : {"start_ns", "end_ns", "stream", "why"}) columns[key] = Json::array();
    for (const Gap& gap : gaps_) {
      if (gap.end <= gap.start) continue;
      columns["start_ns"].push_back(gap.start);
      columns["end_ns"].push_back(gap.end);
      columns["stream"].push_back(gap.stream);
      columns["why"].push_back(gap.why);
    }
    return columns;
  }

  struct Gap {
    std::int64_t start = 0;
    std::int64_t end = 0;
    int stream = -1;
    const char* why = "";
  };

  /// Keeps the longest.
  void thin_gaps() {
    if (gaps_.size() <= most_) return;
    std::vector<std::int64_t> lengths;
    for (const Gap& gap : gaps_) lengths.push_back(gap.end - gap.start);
    std::ranges::nth_element(lengths, lengths.end() - static_cast<std::ptrdiff_t>(most_));
    const std::int64_t shortest = lengths[lengths.size() - most_];
    std::erase_if(gaps_, [&](const Gap& gap) { return gap.end - gap.start <= shortest; });
  }

  const scenario::StepLog& log_;
  const std::size_t most_;
  const scenario::Dependencies dependencies_;
  std::vector<std::vector<Bar>> streams_;
  std::vector<Gap> gaps_;
  Index names_;
  Index kinds_;
  std::vector<std::string> classes_;
};

}  // namespace

nlohmann::ordered_json stream_timeline(const scenario::StepLog& log, std::size_t most) {
  return Gatherer(log, std::max<std::size_t>(most, 64)).gather();
}

}  // namespace shardsim::report
