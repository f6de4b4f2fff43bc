// `shardsim merge`: the parts of a sweep, "=====" between them.
#include <array>
#include <iostream>
#include <sstream>
#include <streambuf>
#include <string>

#include "cli/application.hpp"
#include "tests/fuzz/memory_files.hpp"
#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

namespace {

/// What a stream is given goes to a text instead, for as long as this lives.
class Captured {
 public:
  explicit Captured(std::ostream& stream) : stream_(stream), before_(stream.rdbuf(text_.rdbuf())) {}
  ~Captured() { stream_.rdbuf(before_); }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  std::string text() const { return text_.str(); }

 private:
  std::ostream& stream_;
  std::ostringstream text_;
  std::streambuf* before_;
};

}  // namespace

void merge_sweep(std::string_view input) {
  const auto parts = parts_of(input, 1);
  std::vector<std::string> arguments{"shardsim", "merge"};
  for (std::size_t i = 0; i < std::min<std::size_t>(parts.size(), 4); ++i) {
    arguments.push_back(unnamed_file(i, parts[i]).string());
  }
  for (const char* one : {"--csv", "-", "--plot"}) arguments.emplace_back(one);
  std::vector<const char*> texts;
  for (const std::string& one : arguments) texts.push_back(one.c_str());
  const Captured out(std::cout);
  const Captured errors(std::cerr);
  const int status = cli::run_application(static_cast<int>(texts.size()), texts.data());
  const bool failed = status == 1 || status == 2;  // 1: no point of the parts has a result
  require(status == 0 || (failed && !errors.text().empty()), "a failure without a message");
}

}  // namespace shardsim::fuzz
