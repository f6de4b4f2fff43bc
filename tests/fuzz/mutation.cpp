#include "tests/fuzz/mutation.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>
#include <vector>

#include "tests/fuzz/dictionary.hpp"

namespace shardsim::fuzz {

namespace {

constexpr auto numbers = std::to_array<std::string_view>({"0",
                                                          "1",
                                                          "-1",
                                                          "2",
                                                          "3",
                                                          "4",
                                                          "5",
                                                          "7",
                                                          "8",
                                                          "16",
                                                          "17",
                                                          "31",
                                                          "64",
                                                          "100",
                                                          "128",
                                                          "1000",
                                                          "1024",
                                                          "65535",
                                                          "100000",
                                                          "1000000",
                                                          "2147483647",
                                                          "2147483648",
                                                          "4294967295",
                                                          "4294967296",
                                                          "9007199254740993",
                                                          "9223372036854775807",
                                                          "9223372036854775808",
                                                          "18446744073709551616",
                                                          "-9223372036854775808",
                                                          "0.1",
                                                          "0.5",
                                                          "1.5",
                                                          "0.0001",
                                                          "1e-9",
                                                          "1e-300",
                                                          "1e9",
                                                          "1e18",
                                                          "1e19",
                                                          "1e300",
                                                          "1e308",
                                                          "1e309",
                                                          "-0.0",
                                                          "nan",
                                                          "inf",
                                                          ".5",
                                                          "5.",
                                                          "0x10",
                                                          "010",
                                                          "1_000",
                                                          "+1"});

constexpr auto units = std::to_array<std::string_view>(
    {" B", " KiB", " MiB", " GiB", " TiB", " GB", " ps", " ns", " us", " ms", " s", " bit/s",
     " Gbit/s", " GB/s", " TFLOP/s", " %", "", " GiBB"});

constexpr std::string_view special = ":[]{},\"'#-&*!|>%@?\t\n\r =<>/\\.;^~()+\x80\xff\xc3\xa9";

class Mutator {
 public:
  Mutator(std::string_view input, Grammar grammar, std::uint64_t seed)
      : text_(input), words_(dictionary(grammar)), state_(seed * 2 + 1) {}

  std::string run() {
    const std::size_t changes = 1 + below(4);
    for (std::size_t i = 0; i < changes; ++i) change();
    return std::move(text_);
  }

 private:
  /// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
  std::uint64_t draw() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111eb;
    return z ^ (z >> 31U);
  }
  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : draw() % bound; }
  template <class Range>
  auto pick(const Range& range) {
    return range[below(range.size())];
  }

  void change() {
    switch (below(16)) {
      case 0:
        return remove_line();
      case 1:
      case 2:
        return copy_line();
      case 3:
        return swap_lines();
      case 4:
        return indent_line();
      case 5:
      case 6:
      case 7:
      case 8:
        return change_number();
      case 9:
        return change_unit();
      case 10:
      case 11:
        return change_word();
      case 12:
        return insert_word();
      case 13:
        return repeat_piece();
      case 14:
        return swap_words();
      default:
        return change_byte();
    }
  }

  std::vector<std::pair<std::size_t, std::size_t>> lines() const {
    std::vector<std::pair<std::size_t, std::size_t>> found;
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size() - 1) + 1;
      found.emplace_back(at, end - at);
      at = end;
    }
    return found;
  }

  template <class Belongs>
  std::vector<std::pair<std::size_t, std::size_t>> runs(Belongs belongs) const {
    std::vector<std::pair<std::size_t, std::size_t>> found;
    for (std::size_t at = 0; at < text_.size();) {
      if (!belongs(text_[at])) {
        ++at;
        continue;
      }
      const std::size_t begin = at;
      while (at < text_.size() && belongs(text_[at])) ++at;
      found.emplace_back(begin, at - begin);
    }
    return found;
  }
  static bool is_digit(char c) { return (c >= '0' && c <= '9') || c == '.'; }
  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
  }

  void remove_line() {
    const auto all = lines();
    if (all.empty()) return;
    const auto [at, length] = pick(all);
    text_.erase(at, length);
  }
  void copy_line() {
    const auto all = lines();
    if (all.empty()) return;
    const std::size_t first = below(all.size());
    const std::size_t last = std::min(first + below(4), all.size() - 1);
    const std::size_t begin = all[first].first;
    const std::string block = text_.substr(begin, all[last].first + all[last].second - begin);
    text_.insert(pick(all).first, block);
  }
  void swap_lines() {
    const auto all = lines();
    if (all.size() < 2) return;
    auto a = pick(all);
    auto b = pick(all);
    if (a.first == b.first) return;
    if (a.first > b.first) std::swap(a, b);
    const std::string first = text_.substr(a.first, a.second);
    const std::string second = text_.substr(b.first, b.second);
    text_.replace(b.first, b.second, first);
    text_.replace(a.first, a.second, second);
  }
  void indent_line() {
    const auto all = lines();
    if (all.empty()) return;
    const std::size_t at = pick(all).first;
    if (below(2) == 0) {
      text_.insert(at, 2, ' ');
    } else if (text_.compare(at, 2, "  ") == 0) {
      text_.erase(at, 2);
    }
  }
  void change_number() {
    const auto all = runs(is_digit);
    if (all.empty()) return;
    const auto [at, length] = pick(all);
    std::int64_t value = 0;
    const auto read = std::from_chars(text_.data() + at, text_.data() + at + length, value);
    const bool near = below(3) == 0 && read.ec == std::errc{} && value < 1'000'000'000;
    if (near) {
      constexpr std::array steps{-1, 1, 2, 10};
      const std::int64_t changed = below(2) == 0 ? value + pick(steps) : value * 2;
      text_.replace(at, length, std::to_string(changed));
    } else {
      text_.replace(at, length, std::string(pick(numbers)));
    }
  }
  void change_unit() {
    const auto all = runs(is_digit);
    if (all.empty()) return;
    const auto [at, length] = pick(all);
    std::size_t end = at + length;
    const std::size_t begin = end;
    if (end < text_.size() && text_[end] == ' ') ++end;
    while (end < text_.size() && (std::isalpha(static_cast<unsigned char>(text_[end])) != 0 ||
                                  text_[end] == '/' || text_[end] == '%')) {
      ++end;
    }
    text_.replace(begin, end - begin, std::string(pick(units)));
  }
  void change_word() {
    const auto all = runs(is_word);
    if (all.empty() || words_.empty()) return;
    const auto [at, length] = pick(all);
    text_.replace(at, length, pick(words_));
  }
  void insert_word() {
    if (words_.empty()) return;
    const std::string word = pick(words_);
    if (below(3) != 0) {
      text_.insert(below(text_.size() + 1), word);
      return;
    }
    // As a line of its own, indented like the one before.
    const auto all = lines();
    if (all.empty()) return;
    const auto [at, length] = pick(all);
    const std::size_t first = text_.find_first_not_of(' ', at);
    const std::size_t blanks = first == std::string::npos ? 0 : first - at;
    text_.insert(at, std::string(std::min(blanks, length), ' ') + word + "\n");
  }
  void repeat_piece() {
    if (text_.empty()) return;
    const std::size_t at = below(text_.size());
    const std::string piece = text_.substr(at, 1 + below(12));
    const std::size_t times = below(8) == 0 ? 200 : 1 + below(6);
    std::string many;
    for (std::size_t i = 0; i < times; ++i) many += piece;
    text_.insert(at, many);
  }
  void swap_words() {
    const auto all = runs(is_word);
    if (all.size() < 2) return;
    const auto [from, length] = pick(all);
    const std::string word = text_.substr(from, length);
    const auto [to, other] = pick(all);
    text_.replace(to, other, word);
  }
  void change_byte() {
    const char c = below(2) == 0 ? pick(special) : static_cast<char>(below(256));
    const std::size_t at = below(text_.size() + 1);
    if (at < text_.size() && below(2) == 0) {
      text_[at] = c;
    } else {
      text_.insert(at, 1, c);
    }
  }

  std::string text_;
  const std::vector<std::string>& words_;
  std::uint64_t state_;
};

}  // namespace

std::string mutate(std::string_view input, Grammar grammar, std::uint64_t seed) {
  return Mutator(input, grammar, seed).run();
}

}  // namespace shardsim::fuzz
