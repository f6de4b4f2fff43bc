// The only file that includes yaml-cpp.
#include "simcore/config/yaml_reader.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <sstream>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "simcore/config/source_positions.hpp"
#include "simcore/config/text_checks.hpp"
#include "simcore/config/tree_builder.hpp"
#include "simcore/text_file.hpp"

namespace shardsim::simcore {

namespace {

/// Leaves the parser after a limit was passed and reported.
struct Stop {};

std::size_t offset_of(const YAML::Mark& mark) {
  return mark.pos < 0 ? 0 : static_cast<std::size_t>(mark.pos);
}

class Events final : public YAML::EventHandler {
 public:
  explicit Events(TreeBuilder& builder) : builder_(builder) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    go_on(builder_.begin_document(offset_of(mark)));
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override {
    go_on(builder_.null(offset_of(mark)));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    go_on(builder_.refused(offset_of(mark), "aliases (*name) are not supported; write it out"));
  }
  void OnAnchor(const YAML::Mark& mark, const std::string& name) override {
    builder_.refuse_property(offset_of(mark), fmt::format("anchors (&{}) are not supported", name));
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    if (is_tag(tag)) {
      go_on(builder_.refused(offset_of(mark), tag_message(tag)));
    } else {
      go_on(builder_.scalar(offset_of(mark), value, tag == "!"));
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    begin(mark, tag, NodeKind::sequence);
  }
  void OnSequenceEnd() override { builder_.end_collection(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    begin(mark, tag, NodeKind::map);
  }
  void OnMapEnd() override { builder_.end_collection(); }

 private:
  /// yaml-cpp gives "?" to plain and "!" to quoted scalars without a tag.
  static bool is_tag(const std::string& tag) { return !tag.empty() && tag != "?" && tag != "!"; }
  static std::string tag_message(std::string tag) {
    constexpr std::string_view standard = "tag:yaml.org,2002:";
    if (tag.starts_with(standard)) tag.replace(0, standard.size(), "!!");
    return fmt::format("tags ({}) are not supported", quote(tag));
  }
  void begin(const YAML::Mark& mark, const std::string& tag, NodeKind kind) {
    if (is_tag(tag)) builder_.refuse_property(offset_of(mark), tag_message(tag));
    go_on(builder_.begin_collection(offset_of(mark), kind));
  }
  static void go_on(bool yes) {
    if (!yes) throw Stop{};
  }

  TreeBuilder& builder_;
};

/// The parser's messages in words that tell what to do.
std::string syntax_message(const std::string& message, const TreeBuilder& builder) {
  using Pair = std::pair<std::string_view, std::string_view>;
  using namespace YAML::ErrorMsg;
  const std::array known{
      Pair{END_OF_MAP,
           "unexpected text; each key stands on its own line, indented like the others"},
      Pair{END_OF_MAP_FLOW, "expected ',' or '}' in a map in braces"},
      Pair{END_OF_SEQ,
           "unexpected text; each '- item' stands on its own line, indented like the others"},
      Pair{END_OF_SEQ_FLOW, "expected ',' or ']' in a list in brackets"},
      Pair{EOF_IN_SCALAR, "the text ends within quotes"},
      Pair{DOC_IN_SCALAR, "a document mark ('---' or '...') within quotes"},
      Pair{TAB_IN_INDENTATION, "tab in indentation; indent with spaces"},
      Pair{FLOW_END, "closing bracket without an opening one"},
      Pair{BLOCK_ENTRY, "a list item ('- ') may not begin here"},
      Pair{MAP_KEY, "a key may not begin here"},
      Pair{MAP_VALUE,
           "unexpected ':'; check this line and the one before, or quote the text if the colon "
           "belongs to it"},
      Pair{UNKNOWN_TOKEN, "unexpected character; quote the text if the character belongs to it"},
      Pair{ALIAS_NOT_FOUND, "aliases (*name) are not supported; quote the text if it is none"},
      Pair{CHAR_IN_ALIAS, "aliases (*name) are not supported; quote the text if it is none"},
      Pair{UNKNOWN_ANCHOR, "aliases (*name) are not supported; quote the text if it is none"},
      Pair{ANCHOR_NOT_FOUND, "anchors (&name) are not supported; quote the text if it is none"},
      Pair{CHAR_IN_ANCHOR, "anchors (&name) are not supported; quote the text if it is none"}};
  const auto found = std::ranges::find(known, std::string_view(message), &Pair::first);
  if (found == known.end()) return "not valid YAML: " + message;
  std::string text(found->second);
  const bool in_brackets = message == END_OF_MAP_FLOW || message == END_OF_SEQ_FLOW;
  if (const auto begin = builder.open_collection(); begin && in_brackets) {
    text += fmt::format(" that begins at {}:{}", begin->line, begin->column);
  }
  return text;
}

/// Feeds `text` to the parser; offsets in it are those of the positions' source.
std::optional<ConfigNode> parse(const std::string& text, const SourcePositions& positions,
                                Diagnostics& diagnostics) {
  TreeBuilder builder(positions, diagnostics);
  Events events(builder);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(events)) {
    }
    return builder.take_root();
  } catch (const Stop&) {
    return std::nullopt;  // what stopped it has been reported
  } catch (const YAML::Exception& error) {
    diagnostics.error(positions.at(offset_of(error.mark)), syntax_message(error.msg, builder));
  } catch (const std::exception& error) {
    diagnostics.error(positions.whole(), fmt::format("cannot be read: {}", error.what()));
  }
  return std::nullopt;
}

bool report_size(const SourcePositions& positions, Diagnostics& diagnostics) {
  if (positions.source()->text.size() <= max_yaml_bytes) return false;
  diagnostics.error(positions.whole(),
                    fmt::format("larger than {} MiB", max_yaml_bytes / (1 << 20)));
  return true;
}

}  // namespace

std::optional<ConfigNode> read_yaml(std::shared_ptr<const SourceText> source,
                                    Diagnostics& diagnostics) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (source->text.starts_with(byte_order_mark)) {
    source = std::make_shared<SourceText>(
        SourceText{source->name, source->text.substr(byte_order_mark.size())});
  }
  const SourcePositions positions(source);
  if (report_size(positions, diagnostics) || !check_text(positions, diagnostics)) {
    return std::nullopt;
  }
  const std::size_t errors = diagnostics.error_count();
  std::optional<ConfigNode> root = parse(source->text, positions, diagnostics);
  if (!root && diagnostics.error_count() == errors) {
    diagnostics.error(positions.whole(), "the file is empty");
  }
  return root;
}

std::optional<ConfigNode> read_yaml_file(const std::filesystem::path& path,
                                         Diagnostics& diagnostics) {
  auto bytes = read_text_file(path, max_yaml_bytes);
  auto source = std::make_shared<SourceText>(SourceText{path.string(), bytes.value_or("")});
  if (!bytes) {
    diagnostics.error({source, 0, 0}, bytes.error());
    return std::nullopt;
  }
  return read_yaml(std::move(source), diagnostics);
}

std::optional<ConfigNode> read_yaml_value(const std::shared_ptr<const SourceText>& source,
                                          std::size_t offset, Diagnostics& diagnostics) {
  const SourcePositions positions(source);
  if (report_size(positions, diagnostics) || !check_text(positions, diagnostics)) {
    return std::nullopt;
  }
  const std::size_t errors = diagnostics.error_count();
  // Blanks in place of what comes before keep the offsets.
  std::string text(offset, ' ');
  text += std::string_view(source->text).substr(offset);
  const std::size_t begin = text.find_first_not_of(' ');
  std::optional<ConfigNode> value = parse(text, positions, diagnostics);
  if (!value) {
    if (diagnostics.error_count() == errors) {
      diagnostics.error(
          positions.at(offset),
          "expected a value after '=', such as 4, 2.5 us, true, [a, b] or {key: value}");
    }
    return std::nullopt;
  }
  const bool bracket = begin != std::string::npos && (text[begin] == '[' || text[begin] == '{');
  if ((value->is_map() || value->is_sequence()) && !bracket) {
    diagnostics.error(positions.at(offset), "write a list as [a, b] and a map as {key: value}");
    return std::nullopt;
  }
  return value;
}

}  // namespace shardsim::simcore
