#include "simcore/output/json_stream.hpp"

#include <cassert>

#include "simcore/output/json_text.hpp"

namespace shardsim::simcore {

namespace {
constexpr std::size_t flush_size = 1 << 16;
}  // namespace

void JsonStream::separate() {
  if (needs_comma_) buffer_ += ',';
  if (on_new_line_) {
    buffer_ += '\n';
  } else if (needs_comma_) {
    buffer_ += ' ';
  }
  on_new_line_ = false;
}

void JsonStream::finish_value() {
  needs_comma_ = true;
  if (buffer_.size() >= flush_size) flush();
}

void JsonStream::begin(char bracket) {
  separate();
  buffer_ += bracket;
  needs_comma_ = false;
  ++depth_;
}

void JsonStream::end(char bracket) {
  assert(depth_ > 0);
  needs_comma_ = false;
  separate();
  buffer_ += bracket;
  --depth_;
  finish_value();
}

void JsonStream::key(std::string_view name) {
  separate();
  append_json_string(buffer_, name);
  buffer_ += ": ";
  needs_comma_ = false;
}

void JsonStream::value(std::string_view text) {
  separate();
  append_json_string(buffer_, text);
  finish_value();
}

void JsonStream::value(double number) {
  separate();
  append_json_number(buffer_, number);
  finish_value();
}

void JsonStream::integer(std::int64_t number) {
  separate();
  append_json_number(buffer_, number);
  finish_value();
}

void JsonStream::integer(std::uint64_t number) {
  separate();
  append_json_number(buffer_, number);
  finish_value();
}

void JsonStream::literal(std::string_view text) {
  separate();
  buffer_ += text;
  finish_value();
}

void JsonStream::microseconds(SimTime time) {
  separate();
  append_microseconds(buffer_, time);
  finish_value();
}

void JsonStream::flush() {
  out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  buffer_.clear();
}

}  // namespace shardsim::simcore
