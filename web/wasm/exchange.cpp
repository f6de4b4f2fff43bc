#include "web/wasm/exchange.hpp"

#include <utility>

#include <nlohmann/json.hpp>

#include "web/wasm/bundled_files.hpp"

namespace shardsim::web {

namespace {

std::string& request_text() {
  static std::string text;
  return text;
}

std::string& answer() {
  static std::string text;
  return text;
}

}  // namespace

const std::string& request() { return request_text(); }

std::uint32_t reply(std::string text) {
  answer() = std::move(text);
  return static_cast<std::uint32_t>(answer().size());
}

std::uint32_t refuse(std::string_view kind, std::string_view message) {
  return reply(nlohmann::ordered_json{{"failed", {{"kind", kind}, {"message", message}}}}.dump());
}

}  // namespace shardsim::web

extern "C" {

/// Room for a request of `bytes` bytes; what was there is lost.
__attribute__((export_name("shardsim_reserve"))) char* shardsim_reserve(std::uint32_t bytes) {
  shardsim::web::request_text().assign(bytes, '\0');
  return shardsim::web::request_text().data();
}

/// Where the answer to the last call begins.
__attribute__((export_name("shardsim_answer"))) const char* shardsim_answer() {
  return shardsim::web::answer().data();
}

/// The request is a bundle of files, {path: tree}. 1 if it could be read, else 0.
__attribute__((export_name("shardsim_add_files"))) std::uint32_t shardsim_add_files() {
  return shardsim::web::add_bundle(shardsim::web::request()) ? 1 : 0;
}
}
