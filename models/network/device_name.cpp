#include "models/network/device_name.hpp"

#include <array>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "simcore/diagnostics.hpp"

namespace shardsim::network {

namespace {

struct Word {
  std::string_view text;
  DeviceKind kind;
  std::int32_t tier;
  bool in_node;
  bool in_fabric;
};

constexpr std::array words{
    Word{"gpu", DeviceKind::gpu, 0, true, false},
    Word{"nvswitch", DeviceKind::nvswitch, 0, true, true},
    Word{"pcie_switch", DeviceKind::pcie_switch, 0, true, false},
    Word{"cpu", DeviceKind::cpu, 0, true, false},
    Word{"nic", DeviceKind::nic, 0, true, false},
    Word{"leaf", DeviceKind::network_switch, 0, false, true},
    Word{"spine", DeviceKind::network_switch, 1, false, true},
    Word{"core", DeviceKind::network_switch, 2, false, true},
};

/// "word[index]": what stands before and between the brackets.
struct Part {
  std::string_view word;
  std::string_view index;
};

std::optional<Part> split_part(std::string_view text) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos || open == 0 || text.back() != ']') return std::nullopt;
  return Part{text.substr(0, open), text.substr(open + 1, text.size() - open - 2)};
}

std::optional<std::int32_t> parse_index(std::string_view text) {
  if (text.empty() || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  if (text.front() < '0' || text.front() > '9') return std::nullopt;
  std::int32_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string unknown_word(std::string_view word) {
  return fmt::format("'{}' is no kind of device{}", word,
                     simcore::did_you_mean(simcore::nearest_spelling(word, device_words())));
}

std::string malformed(std::string_view name) {
  return fmt::format("expected a device such as 'node[0].nic[1]' or 'leaf[0]', found '{}'", name);
}

}  // namespace

std::string_view device_word(DeviceKind kind, std::int32_t tier) {
  for (const Word& word : words) {
    if (word.kind == kind && (kind != DeviceKind::network_switch || word.tier == tier)) {
      return word.text;
    }
  }
  return "switch";
}

std::vector<std::string> device_words() {
  std::vector<std::string> names;
  for (const Word& word : words) names.emplace_back(word.text);
  return names;
}

std::string device_name(const Vertex& device) {
  const std::string_view word = device_word(device.kind, device.tier);
  if (device.node == every_node) return fmt::format("node[*].{}[{}]", word, device.index);
  if (device.node < 0) return fmt::format("{}[{}]", word, device.index);
  return fmt::format("node[{}].{}[{}]", device.node, word, device.index);
}

std::expected<Vertex, std::string> parse_device_name(std::string_view name) {
  const std::size_t dot = name.find('.');
  const bool in_node = dot != std::string_view::npos;
  Vertex device;
  if (in_node) {
    const std::optional<Part> node = split_part(name.substr(0, dot));
    if (!node || node->word != "node") return std::unexpected(malformed(name));
    const std::optional<std::int32_t> index =
        node->index == "*" ? every_node : parse_index(node->index);
    if (!index) return std::unexpected(malformed(name));
    device.node = *index;
  }
  const std::optional<Part> part = split_part(in_node ? name.substr(dot + 1) : name);
  if (!part) return std::unexpected(malformed(name));
  const std::optional<std::int32_t> index = parse_index(part->index);
  if (!index) return std::unexpected(malformed(name));
  device.index = *index;
  for (const Word& word : words) {
    if (word.text != part->word) continue;
    if (in_node ? !word.in_node : !word.in_fabric) {
      return std::unexpected(
          fmt::format("'{}' stands {} a node", part->word, in_node ? "outside" : "inside"));
    }
    device.kind = word.kind;
    device.tier = word.tier;
    return device;
  }
  return std::unexpected(unknown_word(part->word));
}

}  // namespace shardsim::network
