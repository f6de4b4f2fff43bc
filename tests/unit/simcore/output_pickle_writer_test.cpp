// Pickles byte by byte, against CPython's pickletools, and read back by Python where there is one.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include <doctest/doctest.h>

#include "simcore/output/pickle_writer.hpp"

namespace shardsim::simcore {
namespace {

using namespace std::string_literals;

/// What `write` puts between the protocol's two bytes and the final STOP.
template <class Write>
std::string pickled(Write&& write) {
  std::ostringstream out;
  PickleWriter writer(out);
  write(writer);
  writer.finish();
  const std::string text = out.str();
  REQUIRE(text.size() >= 3);
  CHECK(text.substr(0, 2) == "\x80\x02"s);
  CHECK(text.back() == '.');
  return text.substr(2, text.size() - 3);
}

std::string pickled_integer(std::int64_t number) {
  return pickled([&](PickleWriter& writer) { writer.value(number); });
}

TEST_CASE("a whole number takes the shortest opcode that holds it") {
  CHECK(pickled_integer(0) == "K\0"s);
  CHECK(pickled_integer(255) == "K\xff"s);
  CHECK(pickled_integer(256) == "M\x00\x01"s);
  CHECK(pickled_integer(65535) == "M\xff\xff"s);
  CHECK(pickled_integer(65536) == "J\x00\x00\x01\x00"s);
  CHECK(pickled_integer(-1) == "J\xff\xff\xff\xff"s);
  CHECK(pickled_integer(INT32_MAX) == "J\xff\xff\xff\x7f"s);
  CHECK(pickled_integer(INT32_MIN) == "J\x00\x00\x00\x80"s);
  CHECK(pickled_integer(std::int64_t{INT32_MAX} + 1) == "\x8a\x05\x00\x00\x00\x80\x00"s);
  CHECK(pickled_integer(std::int64_t{INT32_MIN} - 1) == "\x8a\x05\xff\xff\xff\x7f\xff"s);
  CHECK(pickled_integer((std::int64_t{1} << 39) - 1) == "\x8a\x05\xff\xff\xff\xff\x7f"s);
  CHECK(pickled_integer(std::int64_t{1} << 39) == "\x8a\x06\x00\x00\x00\x00\x80\x00"s);
  CHECK(pickled_integer(INT64_MAX) == "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"s);
  CHECK(pickled_integer(INT64_MIN) == "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80"s);
}

TEST_CASE("the other scalars") {
  CHECK(pickled([](PickleWriter& writer) { writer.value(true); }) == "\x88"s);
  CHECK(pickled([](PickleWriter& writer) { writer.value(false); }) == "\x89"s);
  CHECK(pickled([](PickleWriter& writer) { writer.none(); }) == "N");
  CHECK(pickled([](PickleWriter& writer) { writer.value(1.5); }) ==
        "G\x3f\xf8\x00\x00\x00\x00\x00\x00"s);
  CHECK(pickled([](PickleWriter& writer) { writer.value("ab"); }) ==
        "X\x02\x00\x00\x00"s + "abq\x00"s);
}

TEST_CASE("a byte that is no UTF-8 becomes the replacement character") {
  CHECK(pickled([](PickleWriter& writer) { writer.value("\xff"); }) ==
        "X\x03\x00\x00\x00\xEF\xBF\xBDq\x00"s);
}

TEST_CASE("empty containers have no mark but a tuple's") {
  CHECK(pickled([](PickleWriter& writer) {
          writer.begin_list();
          writer.end_list();
        }) == "]");
  CHECK(pickled([](PickleWriter& writer) {
          writer.begin_dict();
          writer.end_dict();
        }) == "}");
  CHECK(pickled([](PickleWriter& writer) {
          writer.begin_tuple();
          writer.end_tuple();
        }) == "(t");
}

TEST_CASE("containers nest, and a repeated string comes from the memo") {
  const std::string text = pickled([](PickleWriter& writer) {
    writer.begin_dict();
    writer.member("a", 1);
    writer.value("b");
    writer.begin_list();
    writer.value("a");
    writer.begin_tuple();
    writer.value(2);
    writer.none();
    writer.end_tuple();
    writer.end_list();
    writer.end_dict();
  });
  CHECK(text == "}(X\x01\x00\x00\x00"s + "aq\x00"s + "K\x01X\x01\x00\x00\x00"s + "bq\x01"s +
                    "](h"s + "\x00(K\x02Nteu"s);
}

TEST_CASE("a remembered list is recalled, not written again") {
  const std::string text = pickled([](PickleWriter& writer) {
    writer.begin_list();
    writer.begin_list();
    writer.value(7);
    const PickleWriter::MemoId inner = writer.end_list_and_remember();
    writer.recall(inner);
    writer.end_list();
  });
  CHECK(text == "](](K\x07"s + "eq\x00h\x00"s + "e");
}

TEST_CASE("long lists are handed over in batches of a thousand") {
  const auto list_of = [](int count) {
    return pickled([&](PickleWriter& writer) {
      writer.begin_list();
      for (int i = 0; i < count; ++i) writer.value(1);
      writer.end_list();
    });
  };
  CHECK(list_of(1000).size() == 2 + 2000 + 1);
  CHECK(list_of(1000).back() == 'e');
  CHECK(list_of(1001).size() == 2 + 2000 + 2 + 2 + 1);
}

TEST_CASE("Python reads what was written, if there is a Python") {
  if (std::system("python3 -c 'import pickle' >/dev/null 2>&1") != 0) return;
  std::string pattern = "/tmp/shardsim-pickle-XXXXXX";
  const int descriptor = mkstemp(pattern.data());
  REQUIRE(descriptor >= 0);
  std::ostringstream out;
  PickleWriter writer(out);
  writer.begin_dict();
  writer.value("numbers");
  writer.begin_list();
  for (int i = 0; i < 2500; ++i)
    writer.value((std::int64_t{1} << (i % 63)) * (i % 2 == 0 ? 1 : -1));
  writer.end_list();
  writer.value("names");
  writer.begin_list();
  for (int i = 0; i < 600; ++i) writer.value("name " + std::to_string(i % 300));
  writer.end_list();
  writer.value("pair");
  writer.begin_tuple();
  writer.value(0.1);
  writer.value("\xff");
  writer.end_tuple();
  writer.end_dict();
  writer.finish();
  const std::string text = out.str();
  std::FILE* file = fdopen(descriptor, "wb");
  CHECK(std::fwrite(text.data(), 1, text.size(), file) == text.size());
  std::fclose(file);
  const std::string program =
      "import pickle; d = pickle.load(open(\"" + pattern +
      "\", \"rb\")); "
      "assert d == {\"numbers\": [(1 << (i % 63)) * (1 if i % 2 == 0 else -1) for i in "
      "range(2500)], \"names\": [\"name %d\" % (i % 300) for i in range(600)], "
      "\"pair\": (0.1, \"\\ufffd\")}";
  CHECK(std::system(("python3 -c '" + program + "'").c_str()) == 0);
  std::remove(pattern.c_str());
}

}  // namespace
}  // namespace shardsim::simcore
