// A trace in Chrome's JSON format, as PyTorch's profiler (Kineto) writes it: ui.perfetto.dev,
// chrome://tracing and Holistic Trace Analysis read it.
//
// Events are written as they come, each on a line of its own, and need no order. First the header:
// any members of the outermost object; then events; then finish(). Times are microseconds, exact to
// the picosecond. Assumes that the caller pairs flow ids and keeps slices of a track nested.
#pragma once

#include <concepts>
#include <cstdint>
#include <ostream>
#include <string_view>

#include "simcore/output/json_stream.hpp"
#include "simcore/time.hpp"

namespace shardsim::simcore {

/// A row of the trace: a thread of a process, or a stream of a device.
struct TraceTrack {
  std::int64_t process = 0;
  std::int64_t thread = 0;
};

struct TraceSlice {
  TraceTrack track;
  std::string_view name;
  std::string_view category;
  SimTime start;
  SimTime duration;
};

/// One end of an arrow between slices: it binds to the slice of `track` that encloses `time`.
struct TraceFlow {
  std::uint64_t id = 0;
  TraceTrack track;
  SimTime time;
  std::string_view category = "ac2g";  ///< Kineto's, for launches: CPU to GPU
  std::string_view name = "ac2g";
};

enum class TraceScope : char { thread = 't', process = 'p', global = 'g' };

struct TraceInstant {
  TraceTrack track;
  std::string_view name;
  std::string_view category;
  SimTime time;
  TraceScope scope = TraceScope::thread;
};

class ChromeTraceWriter {
 public:
  /// `out` must outlive the writer.
  explicit ChromeTraceWriter(std::ostream& out);

  /// Header member `name`: write one value into the stream that is returned. Not after an event.
  JsonStream& header(std::string_view name);

  void process_name(std::int64_t process, std::string_view name);
  void process_labels(std::int64_t process, std::string_view labels);
  void process_sort_index(std::int64_t process, std::int64_t index);
  void thread_name(TraceTrack track, std::string_view name);
  void thread_sort_index(TraceTrack track, std::int64_t index);

  void slice(const TraceSlice& slice);
  /// `write_arguments(JsonStream&)` writes the members of "args".
  template <std::invocable<JsonStream&> Arguments>
  void slice(const TraceSlice& slice, Arguments&& write_arguments) {
    begin_slice(slice);
    begin_arguments();
    write_arguments(json_);
    end_arguments();
    end_event();
  }

  /// An arrow, from the start to the finish of equal id, category and name.
  void flow_start(const TraceFlow& flow);
  void flow_finish(const TraceFlow& flow);

  void instant(const TraceInstant& instant);
  template <std::invocable<JsonStream&> Arguments>
  void instant(const TraceInstant& instant, Arguments&& write_arguments) {
    begin_instant(instant);
    begin_arguments();
    write_arguments(json_);
    end_arguments();
    end_event();
  }

  /// Values of a counter from `time` on; `write_series(JsonStream&)` writes one numeric member a
  /// series, drawn on top of each other.
  template <std::invocable<JsonStream&> Series>
  void counter(std::int64_t process, std::string_view name, SimTime time, Series&& write_series) {
    begin_counter(process, name, time);
    begin_arguments();
    write_series(json_);
    end_arguments();
    end_event();
  }

  /// Ends the trace and hands it all to the ostream, whose state says whether it was written.
  void finish();

 private:
  void begin_event(char phase);
  void end_event() { json_.end_object(); }
  void begin_arguments();
  void end_arguments() { json_.end_object(); }
  void begin_slice(const TraceSlice& slice);
  void begin_instant(const TraceInstant& instant);
  void begin_counter(std::int64_t process, std::string_view name, SimTime time);
  void begin_metadata(std::string_view name, TraceTrack track);
  void write_flow(const TraceFlow& flow, char phase);
  void write_track(TraceTrack track);
  void write_time(SimTime time);
  void open_events();

  JsonStream json_;
  bool events_open_ = false;
};

}  // namespace shardsim::simcore
