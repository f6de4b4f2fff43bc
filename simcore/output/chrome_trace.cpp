#include "simcore/output/chrome_trace.hpp"

#include <cassert>

namespace shardsim::simcore {

ChromeTraceWriter::ChromeTraceWriter(std::ostream& out) : json_(out) { json_.begin_object(); }

JsonStream& ChromeTraceWriter::header(std::string_view name) {
  assert(!events_open_);
  json_.new_line();
  json_.key(name);
  return json_;
}

void ChromeTraceWriter::open_events() {
  if (events_open_) return;
  json_.new_line();
  json_.key("traceEvents");
  json_.begin_array();
  events_open_ = true;
}

void ChromeTraceWriter::begin_event(char phase) {
  open_events();
  json_.new_line();
  json_.begin_object();
  json_.member("ph", std::string_view(&phase, 1));
}

void ChromeTraceWriter::write_track(TraceTrack track) {
  json_.member("pid", track.process);
  json_.member("tid", track.thread);
}

void ChromeTraceWriter::write_time(SimTime time) {
  json_.key("ts");
  json_.microseconds(time);
}

void ChromeTraceWriter::begin_arguments() {
  json_.key("args");
  json_.begin_object();
}

void ChromeTraceWriter::begin_metadata(std::string_view name, TraceTrack track) {
  begin_event('M');
  json_.member("name", name);
  write_track(track);
  begin_arguments();
}

void ChromeTraceWriter::process_name(std::int64_t process, std::string_view name) {
  begin_metadata("process_name", TraceTrack{process, 0});
  json_.member("name", name);
  end_arguments();
  end_event();
}

void ChromeTraceWriter::process_labels(std::int64_t process, std::string_view labels) {
  begin_metadata("process_labels", TraceTrack{process, 0});
  json_.member("labels", labels);
  end_arguments();
  end_event();
}

void ChromeTraceWriter::process_sort_index(std::int64_t process, std::int64_t index) {
  begin_metadata("process_sort_index", TraceTrack{process, 0});
  json_.member("sort_index", index);
  end_arguments();
  end_event();
}

void ChromeTraceWriter::thread_name(TraceTrack track, std::string_view name) {
  begin_metadata("thread_name", track);
  json_.member("name", name);
  end_arguments();
  end_event();
}

void ChromeTraceWriter::thread_sort_index(TraceTrack track, std::int64_t index) {
  begin_metadata("thread_sort_index", track);
  json_.member("sort_index", index);
  end_arguments();
  end_event();
}

void ChromeTraceWriter::begin_slice(const TraceSlice& slice) {
  begin_event('X');
  json_.member("cat", slice.category);
  json_.member("name", slice.name);
  write_track(slice.track);
  write_time(slice.start);
  json_.key("dur");
  json_.microseconds(slice.duration);
}

void ChromeTraceWriter::slice(const TraceSlice& slice) {
  begin_slice(slice);
  end_event();
}

void ChromeTraceWriter::write_flow(const TraceFlow& flow, char phase) {
  begin_event(phase);
  json_.member("id", flow.id);
  write_track(flow.track);
  write_time(flow.time);
  json_.member("cat", flow.category);
  json_.member("name", flow.name);
}

void ChromeTraceWriter::flow_start(const TraceFlow& flow) {
  write_flow(flow, 's');
  end_event();
}

void ChromeTraceWriter::flow_finish(const TraceFlow& flow) {
  write_flow(flow, 'f');
  // The arrow ends at the enclosing slice, not at the next one to start.
  json_.member("bp", "e");
  end_event();
}

void ChromeTraceWriter::begin_instant(const TraceInstant& instant) {
  const char scope = static_cast<char>(instant.scope);
  begin_event('i');
  json_.member("cat", instant.category);
  json_.member("s", std::string_view(&scope, 1));
  json_.member("name", instant.name);
  write_track(instant.track);
  write_time(instant.time);
}

void ChromeTraceWriter::instant(const TraceInstant& instant) {
  begin_instant(instant);
  end_event();
}

void ChromeTraceWriter::begin_counter(std::int64_t process, std::string_view name, SimTime time) {
  begin_event('C');
  json_.member("name", name);
  write_track(TraceTrack{process, 0});
  write_time(time);
}

void ChromeTraceWriter::finish() {
  open_events();
  json_.new_line();
  json_.end_array();
  json_.new_line();
  json_.end_object();
  assert(json_.complete());
  json_.flush();
}

}  // namespace shardsim::simcore
