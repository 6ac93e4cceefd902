// The only code that uses yaml-cpp: turns its events into a Tree.
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/names.hpp"
#include "config/tree.hpp"

namespace fastgpu::config {
namespace {

[[noreturn]] void refuse(const SourcePosition& place, const std::string& message) {
  throw Error(ErrorKind::usage, place.text() + ": " + message);
}

/// A list or map whose end was not reached yet.
struct OpenTree {
  Tree tree;
  YAML::anchor_t anchor = 0;
  std::optional<Entry> key{};  ///< The key that waits for its value.
  std::set<std::string> keys{};
};

class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(const std::string& source)
      : source_(std::make_shared<const std::string>(source)) {}

  TreePtr root() const { return root_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (root_) refuse(place(mark), "a second document begins here, and only one is read");
  }
  void OnDocumentEnd() override {}

  /// A null value has no position of its own, and gets that of its key.
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const bool has_key = !open_.empty() && open_.back().key;
    const SourcePosition where = has_key ? open_.back().key->place : place(mark);
    add(std::make_shared<const Tree>(Tree{.kind = Tree::Kind::null, .place = where}), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) refuse(place(mark), "an alias of something that is not complete");
    add(found->second, 0);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    add(std::make_shared<const Tree>(Tree{.kind = Tree::Kind::scalar,
                                          .place = place(mark),
                                          .text = value,
                                          .is_quoted = tag == "!"}),
        anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    check_tag(mark, tag);
    open(Tree::Kind::list, mark, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    check_tag(mark, tag);
    open(Tree::Kind::map, mark, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  SourcePosition place(const YAML::Mark& mark) const {
    return {.source = source_, .line = mark.line + 1, .column = mark.column + 1};
  }

  /// Refuses a tag on a value, because it would be ignored. For values without a tag, yaml-cpp
  /// reports "?", or "!" for quoted ones.
  void check_tag(const YAML::Mark& mark, const std::string& tag) const {
    if (!tag.empty() && tag != "?" && tag != "!")
      refuse(place(mark),
             "tags such as " + printable(tag) + " are not read: write the value alone");
  }

  void open(Tree::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (open_.size() == kDeepest)
      refuse(place(mark), "nested deeper than " + std::to_string(kDeepest) + " levels");
    open_.push_back({.tree = {.kind = kind, .place = place(mark)}, .anchor = anchor});
  }

  void close() {
    OpenTree done = std::move(open_.back());
    open_.pop_back();
    add(std::make_shared<const Tree>(std::move(done.tree)), done.anchor);
  }

  void add(const TreePtr& tree, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_[anchor] = tree;
    if (open_.empty()) {
      root_ = tree;
      return;
    }
    OpenTree& parent = open_.back();
    parent.tree.weight += tree->weight;
    if (parent.tree.weight > kMostValues)
      refuse(tree->place, "more than " + std::to_string(kMostValues) + " values, aliases included");
    if (parent.tree.kind == Tree::Kind::list) {
      parent.tree.items.push_back(tree);
    } else if (!parent.key) {
      add_key(parent, *tree);
    } else {
      parent.key->value = tree;
      parent.tree.entries.push_back(*std::move(parent.key));
      parent.key.reset();
    }
  }

  static void add_key(OpenTree& parent, const Tree& key) {
    if (key.kind != Tree::Kind::scalar) refuse(key.place, "a field's name must be plain text");
    if (!parent.keys.insert(key.text).second)
      refuse(key.place, "field '" + printable(key.text) + "' occurs twice");
    parent.key = Entry{.key = key.text, .place = key.place, .value = nullptr};
  }

  std::shared_ptr<const std::string> source_;
  std::vector<OpenTree> open_;
  std::map<YAML::anchor_t, TreePtr> anchors_;
  TreePtr root_;
};

}  // namespace

std::string SourcePosition::text() const {
  if (line == 0) return *source;
  return *source + ":" + std::to_string(line) + ":" + std::to_string(column);
}

namespace {

/// Refuses binary data and names its position; yaml-cpp would report an unknown escape.
void check_is_text(const std::string& text, const SourcePosition& file) {
  SourcePosition place{.source = file.source, .line = 1, .column = 1};
  for (const char c : text) {
    const bool is_control =
        (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f;
    if (is_control)
      refuse(place, "the byte " + printable(std::string(1, c)) +
                        " is not part of a text: this is not YAML");
    place.column = c == '\n' ? 1 : place.column + 1;
    place.line += c == '\n' ? 1 : 0;
  }
}

/// Returns true if the line, or the one before it, has a bracket next to other text, so that a list
/// was not meant.
bool has_inner_bracket(const std::string& text, int line) {
  std::istringstream lines(text);
  std::string one;
  for (int i = 1; i <= line && std::getline(lines, one); ++i) {
    const std::size_t close = one.find("]:");
    for (std::size_t at = one.find('['); at != one.npos; at = one.find('[', at + 1)) {
      const bool is_behind_text = at > 0 && one[at - 1] != ' ' && one[at - 1] != '[';
      if (i + 1 >= line && (is_behind_text || close != one.npos)) return true;
    }
  }
  return false;
}

/// Returns true if the indentation of the line contains a tab.
bool is_indented_by_tab(const std::string& text, int line) {
  std::size_t begin = 0;
  for (; line > 1 && begin != std::string::npos; --line)
    begin = text.find('\n', begin) == std::string::npos ? std::string::npos
                                                        : text.find('\n', begin) + 1;
  if (begin == std::string::npos) return false;
  const std::size_t end = std::min(text.find_first_not_of(" \t", begin), text.size());
  return text.substr(begin, end - begin).find('\t') != std::string::npos;
}

}  // namespace

TreePtr parse_yaml(const std::string& text, const std::string& source) {
  if (text.size() > kLargestText)
    throw Error(ErrorKind::usage, source + " is larger than 1 MB, which no such file is");
  const auto file = std::make_shared<const std::string>(source);
  check_is_text(text, {.source = file});
  Builder builder(source);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder))
      continue;
  } catch (const YAML::Exception& e) {
    const SourcePosition place{
        .source = file, .line = e.mark.line + 1, .column = e.mark.column + 1};
    if (is_indented_by_tab(text, place.line))
      refuse(place, "this line is indented by a tab, but YAML allows only spaces");
    const char* const advice = has_inner_bracket(text, place.line)
                                   ? "; a value that has brackets is in quotes: \"n[01-04]\""
                                   : "";
    refuse(e.mark.is_null() ? SourcePosition{.source = file} : place,
           "this is not YAML: " + e.msg + advice);
  }
  if (builder.root()) return builder.root();
  return std::make_shared<const Tree>(
      Tree{.place = {.source = std::make_shared<const std::string>(source)}});
}

}  // namespace fastgpu::config
