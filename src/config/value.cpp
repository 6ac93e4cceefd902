#include "config/value.hpp"

#include <algorithm>

#include "base/contains.hpp"
#include "base/join.hpp"
#include "base/literals.hpp"
#include "base/names.hpp"
#include "base/outcome.hpp"

namespace fastgpu::config {
namespace {

std::string shown(const Tree& tree) {
  switch (tree.kind) {
    case Tree::Kind::null:
      return "nothing";
    case Tree::Kind::scalar:
      return "'" + printable(tree.text) + "'";
    case Tree::Kind::list:
      return "a list";
    case Tree::Kind::map:
      return "a map";
  }
  return {};
}

std::string range_text(int least, int most) {
  return "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
}

}  // namespace

std::string Value::text() const {
  if (tree_->kind != Tree::Kind::scalar) refuse("text");
  if (tree_->text.find('\0') != std::string::npos) refuse("text without NUL bytes");
  return tree_->text;
}

std::string Value::filled_text() const {
  std::string filled = text();
  if (filled.empty()) throw error("this must not be empty");
  return filled;
}

template <class Parse>
auto Value::unquoted(const std::string& wanted, const Parse& parse) const {
  if (tree_->kind != Tree::Kind::scalar) refuse(wanted);
  const auto value = attempt([&] { return parse(tree_->text); });
  if (!value.ok()) refuse(wanted);
  if (tree_->is_quoted) refuse(wanted, "the text \"" + tree_->text + "\": leave out its quotes");
  return value.value();
}

int Value::integer(int least, int most) const {
  return unquoted(range_text(least, most),
                  [&](const std::string& text) { return parse_integer(text, least, most); });
}

bool Value::boolean() const {
  return unquoted("true or false", [](const std::string& text) { return parse_boolean(text); });
}

std::string Value::choice(std::span<const std::string> choices) const {
  return parsed([&](const std::string& written) { return parse_choice(written, choices); });
}

std::chrono::milliseconds Value::duration() const {
  return parsed([&](const std::string& written) { return parse_duration(written); });
}

Bytes Value::size() const {
  return parsed([&](const std::string& written) { return parse_size(written); });
}

BitRate Value::bit_rate() const {
  return parsed([&](const std::string& written) { return parse_bit_rate(written); });
}

std::vector<Value> Value::list() const {
  if (!is_list() && !is_null()) refuse("a list");
  std::vector<Value> values;
  for (const TreePtr& item : tree_->items)
    values.emplace_back(item, name_ + "[" + std::to_string(values.size()) + "]");
  return values;
}

std::vector<std::string> Value::texts() const {
  std::vector<std::string> texts;
  for (const Value& value : list())
    texts.push_back(value.text());
  return texts;
}

std::vector<std::pair<std::string, Value>> Value::entries() const {
  if (!is_map() && !is_null()) refuse("a map of names and values");
  std::vector<std::pair<std::string, Value>> values;
  for (const Entry& entry : tree_->entries)
    values.emplace_back(entry.key,
                        Value(entry.value, name_.empty() ? entry.key : name_ + "." + entry.key));
  return values;
}

std::optional<Value> Value::find(std::string_view key) const {
  for (auto& [name, value] : entries())
    if (name == key) return std::move(value);
  return std::nullopt;
}

void Value::allow_only(std::initializer_list<std::string_view> known) const {
  allow_only(std::vector<std::string>(known.begin(), known.end()));
}

void Value::allow_only(const std::vector<std::string>& known,
                       const std::vector<std::string>& flags) const {
  if (!is_map() && !is_null()) refuse("a map of names and values");
  for (const Entry& entry : tree_->entries) {
    if (contains(known, entry.key)) continue;
    const std::string path = name_.empty() ? entry.key : name_ + "." + entry.key;
    std::string message = entry.place.text() + ": unknown field '" + printable(path) + "'";
    const std::string nearest = nearest_name(entry.key, known);
    std::string word = entry.key;
    std::ranges::replace(word, '_', '-');
    const bool may_be_flag = contains(flags, word) || nearest.empty();
    const std::string flag = may_be_flag ? nearest_name(word, flags) : "";
    if (!flag.empty())
      message += ": only the flag --" + flag + " sets this";
    else if (!nearest.empty())
      message += ", did you mean '" + nearest + "'?";
    else
      message += (name_.empty() ? ": the fields are " : ": its fields are ") + joined(known);
    throw Error(ErrorKind::usage, message);
  }
}

Error Value::error(const std::string& message) const {
  const std::string name = name_.empty() ? "" : quoted_name() + ": ";
  return {ErrorKind::usage, where() + ": " + name + message};
}

void Value::refuse(const std::string& wanted) const {
  refuse(wanted, shown(*tree_));
}

void Value::refuse(const std::string& wanted, const std::string& met) const {
  const std::string subject = name_.empty() ? "the file" : quoted_name();
  if (is_null() && !name_.empty())
    throw Error(ErrorKind::usage,
                where() + ": " + subject + " has no value: write one, or leave the field out");
  throw Error(ErrorKind::usage, where() + ": " + subject + " must be " + wanted + ", not " + met);
}

std::string Value::quoted_name() const {
  return "'" + printable(name_) + "'";
}

}  // namespace fastgpu::config
