#include "simcore/output/pickle_writer.hpp"

#include <bit>
#include <cassert>

#include "simcore/utf8.hpp"

namespace shardsim::simcore {

namespace {

// Opcodes by their names in pickletools.
constexpr char proto = '\x80';
constexpr char stop = '.';
constexpr char mark = '(';
constexpr char empty_dict = '}';
constexpr char set_items = 'u';
constexpr char empty_list = ']';
constexpr char appends = 'e';
constexpr char tuple = 't';
constexpr char none_opcode = 'N';
constexpr char new_true = '\x88';
constexpr char new_false = '\x89';
constexpr char bin_int = 'J';   // four bytes, signed
constexpr char bin_int1 = 'K';  // one byte, unsigned
constexpr char bin_int2 = 'M';  // two bytes, unsigned
constexpr char long1 = '\x8a';  // a count of bytes, then two's complement
constexpr char bin_float = 'G';
constexpr char bin_unicode = 'X';
constexpr char bin_put = 'q';
constexpr char long_bin_put = 'r';
constexpr char bin_get = 'h';
constexpr char long_bin_get = 'j';

constexpr std::uint32_t batch = 1000;
constexpr std::size_t buffer_size = 1 << 16;

std::string valid_utf8(std::string_view text) {
  std::string valid;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character character = next_utf8(text, at);
    valid += character.valid ? text.substr(at, character.length) : replacement_character;
    at += character.length;
  }
  return valid;
}

}  // namespace

PickleWriter::PickleWriter(std::ostream& out) : out_(out) {
  buffer_ += proto;
  buffer_ += '\x02';
}

void PickleWriter::append_little_endian(std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) buffer_ += static_cast<char>((number >> (8 * i)) & 0xffU);
}

void PickleWriter::before_object() {
  if (levels_.empty() || levels_.back().container == Container::tuple) return;
  if (levels_.back().in_batch == 0) buffer_ += mark;
}

void PickleWriter::after_object() {
  if (buffer_.size() >= buffer_size) {
    out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
    buffer_.clear();
  }
  if (levels_.empty() || levels_.back().container == Container::tuple) return;
  Level& level = levels_.back();
  const bool dict = level.container == Container::dict;
  if (++level.in_batch < (dict ? 2 * batch : batch)) return;
  buffer_ += dict ? set_items : appends;
  level.in_batch = 0;
}

void PickleWriter::begin(Container container) {
  before_object();
  if (container == Container::dict) buffer_ += empty_dict;
  if (container == Container::list) buffer_ += empty_list;
  if (container == Container::tuple) buffer_ += mark;
  levels_.push_back({container, 0});
}

/// Writes the container's end; the container itself is not counted in the one around it yet.
void PickleWriter::close(Container container) {
  assert(!levels_.empty() && levels_.back().container == container);
  const Level level = levels_.back();
  levels_.pop_back();
  if (container == Container::tuple) {
    buffer_ += tuple;
  } else if (level.in_batch > 0) {
    assert(container == Container::list || level.in_batch % 2 == 0);
    buffer_ += container == Container::dict ? set_items : appends;
  }
}

void PickleWriter::end(Container container) {
  close(container);
  after_object();
}

PickleWriter::MemoId PickleWriter::end_list_and_remember() {
  close(Container::list);
  const MemoId object = remember();
  after_object();
  return object;
}

PickleWriter::MemoId PickleWriter::remember() {
  const MemoId object = next_memo_++;
  const bool small = object < 256;
  buffer_ += small ? bin_put : long_bin_put;
  append_little_endian(object, small ? 1 : 4);
  return object;
}

void PickleWriter::recall(MemoId object) {
  assert(object < next_memo_);
  before_object();
  const bool small = object < 256;
  buffer_ += small ? bin_get : long_bin_get;
  append_little_endian(object, small ? 1 : 4);
  after_object();
}

void PickleWriter::value(std::string_view text) {
  if (const auto found = strings_.find(text); found != strings_.end()) {
    recall(found->second);
    return;
  }
  before_object();
  const std::string valid = valid_utf8(text);
  buffer_ += bin_unicode;
  append_little_endian(valid.size(), 4);
  buffer_ += valid;
  strings_.emplace(text, remember());
  after_object();
}

void PickleWriter::value(double number) {
  before_object();
  buffer_ += bin_float;
  const auto bits = std::bit_cast<std::uint64_t>(number);
  for (int i = 7; i >= 0; --i) buffer_ += static_cast<char>((bits >> (8 * i)) & 0xffU);
  after_object();
}

void PickleWriter::integer(std::int64_t number) {
  before_object();
  const auto bits = static_cast<std::uint64_t>(number);
  if (number >= 0 && number < 1 << 8) {
    buffer_ += bin_int1;
    append_little_endian(bits, 1);
  } else if (number >= 0 && number < 1 << 16) {
    buffer_ += bin_int2;
    append_little_endian(bits, 2);
  } else if (number >= INT32_MIN && number <= INT32_MAX) {
    buffer_ += bin_int;
    append_little_endian(bits, 4);
  } else {
    int bytes = 5;  // the fewest whose top bit is the sign
    while (bytes < 8 && number >> (8 * bytes - 1) != (number < 0 ? -1 : 0)) ++bytes;
    buffer_ += long1;
    buffer_ += static_cast<char>(bytes);
    append_little_endian(bits, bytes);
  }
  after_object();
}

void PickleWriter::boolean(bool truth) {
  before_object();
  buffer_ += truth ? new_true : new_false;
  after_object();
}

void PickleWriter::none() {
  before_object();
  buffer_ += none_opcode;
  after_object();
}

void PickleWriter::finish() {
  assert(levels_.empty());
  buffer_ += stop;
  out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  out_.flush();
  buffer_.clear();
}

}  // namespace shardsim::simcore
