// Writes Python's pickle format, protocol 2, piece by piece: dictionaries, lists, tuples, strings,
// whole numbers, floating-point numbers, booleans and None.
//
// Source: CPython, Lib/pickletools.py, which specifies every opcode. Equal strings are written once
// and recalled from the memo. Long lists and dictionaries are handed over in batches of 1,000, as
// Python's own pickler does, because readers in other languages take a batch at once. Leaves out
// classes and every other object; so what is written can be read without running code.
//
// The caller opens and closes what it writes; in a dictionary keys and values alternate.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim::simcore {

class PickleWriter {
 public:
  /// Names an object that was written before.
  using MemoId = std::uint32_t;

  /// `out` must outlive the writer.
  explicit PickleWriter(std::ostream& out);

  void begin_dict() { begin(Container::dict); }
  void end_dict() { end(Container::dict); }
  void begin_list() { begin(Container::list); }
  void end_list() { end(Container::list); }
  void begin_tuple() { begin(Container::tuple); }
  void end_tuple() { end(Container::tuple); }
  /// Ends a list so that recall() can put the same object elsewhere.
  MemoId end_list_and_remember();
  void recall(MemoId object);

  /// Bytes that belong to no UTF-8 character become U+FFFD.
  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  void value(double number);
  template <std::same_as<bool> Bool>
  void value(Bool truth) {
    boolean(truth);
  }
  template <std::signed_integral Integer>
  void value(Integer number) {
    integer(static_cast<std::int64_t>(number));
  }
  /// At most the largest std::int64_t.
  template <std::unsigned_integral Integer>
    requires(!std::same_as<Integer, bool>)
  void value(Integer number) {
    integer(static_cast<std::int64_t>(number));
  }
  void none();

  /// A key of a dictionary and its value.
  template <class Value>
  void member(std::string_view name, const Value& content) {
    value(name);
    value(content);
  }

  /// Ends the pickle after its one object and hands everything to the ostream, whose state says
  /// whether it took it.
  void finish();

 private:
  enum class Container : std::uint8_t { dict, list, tuple };
  struct Level {
    Container container = Container::list;
    std::uint32_t in_batch = 0;  ///< objects since the last mark; keys and values both count
  };

  void begin(Container container);
  void end(Container container);
  void close(Container container);
  void before_object();
  void after_object();
  void boolean(bool truth);
  void integer(std::int64_t number);
  void append_little_endian(std::uint64_t number, int bytes);
  MemoId remember();

  std::ostream& out_;
  std::string buffer_;
  std::vector<Level> levels_;
  std::map<std::string, MemoId, std::less<>> strings_;
  MemoId next_memo_ = 0;
};

}  // namespace shardsim::simcore
