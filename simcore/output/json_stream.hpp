// Writes JSON piece by piece: nothing is kept but a buffer, so the size of the output costs no
// memory.
//
// The caller opens and closes what it writes; a key is followed by exactly one value. A blank
// follows every colon, which tools that search traces by regular expression rely on.
#pragma once

#include <concepts>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "simcore/time.hpp"

namespace shardsim::simcore {

class JsonStream {
 public:
  /// `out` must outlive the stream. Nothing reaches it for certain before flush().
  explicit JsonStream(std::ostream& out) : out_(out) {}

  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
  void end_array() { end(']'); }
  void key(std::string_view name);

  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(double number);
  template <std::same_as<bool> Bool>
  void value(Bool truth) {
    literal(truth ? "true" : "false");
  }
  template <std::signed_integral Integer>
  void value(Integer number) {
    integer(static_cast<std::int64_t>(number));
  }
  template <std::unsigned_integral Integer>
    requires(!std::same_as<Integer, bool>)
  void value(Integer number) {
    integer(static_cast<std::uint64_t>(number));
  }
  void null() { literal("null"); }
  /// A number: the time in microseconds, exactly.
  void microseconds(SimTime time);

  template <class Value>
  void member(std::string_view name, const Value& content) {
    key(name);
    value(content);
  }

  /// The next piece starts on a line of its own.
  void new_line() { on_new_line_ = true; }
  /// Hands everything to the ostream. Whether it took it, the ostream's state says.
  void flush();
  /// Everything that was opened has been closed.
  bool complete() const { return depth_ == 0; }

 private:
  void begin(char bracket);
  void end(char bracket);
  void separate();
  void literal(std::string_view text);
  void integer(std::int64_t number);
  void integer(std::uint64_t number);
  void finish_value();

  std::ostream& out_;
  std::string buffer_;
  int depth_ = 0;
  bool needs_comma_ = false;
  bool on_new_line_ = false;
};

}  // namespace shardsim::simcore
