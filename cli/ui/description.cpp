#include "cli/ui/description.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/ascii.hpp"
#include "base/contains.hpp"
#include "base/join.hpp"
#include "base/utf8.hpp"
#include "cli/ui/table.hpp"
#include "cli/ui/text.hpp"

namespace fastgpu::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kFieldIndent = 2;
constexpr std::size_t kReadableValue = 20;  ///< A narrower column has no room for words.

bool is_nothing(const Json& value) {
  return value.empty() || value == "";
}

bool is_plain_value(const Json& value) {
  return value.empty() || !value.is_structured();
}

bool is_list_of_objects(const Json& value) {
  return value.is_array() &&
         std::ranges::all_of(value, [](const Json& item) { return item.is_object(); });
}

/// Returns any value as text on one line.
std::string words_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null() || value.empty()) return "";
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Returns "Exit code" for "exit_code".
std::string label_of(std::string_view key) {
  if (key == "id") return "ID";
  std::string out(key);
  std::ranges::replace(out, '_', ' ');
  if (!out.empty()) out.front() = ascii_upper(out.front());
  return out;
}

std::string title_of(std::string_view key) {
  return ascii_upper(label_of(key));
}

/// Returns the keys of the objects in `list`, each once, in the order in which they appear.
std::vector<std::string> keys_of(const Json& list) {
  std::vector<std::string> out;
  for (const Json& item : list)
    for (const auto& [key, value] : item.items())
      if (!contains(out, key)) out.push_back(key);
  return out;
}

class Printer {
 public:
  explicit Printer(const Terminal& terminal) : terminal_(terminal) {}

  void fields(const Json& object, std::size_t depth);
  Styled take() { return std::move(out_); }

 private:
  void items(const Json& list, std::size_t depth);
  void table(const Json& list, std::size_t depth);
  void line(std::size_t depth, std::string_view text) {
    out_ += std::string(depth * kFieldIndent, ' ') + escaped(text, Layout::one_line) + "\n";
  }
  /// Writes one line: `lead`, then the value. Further lines of a long value begin below its first
  /// one.
  void put_value(std::size_t depth, const std::string& lead, const Cell& cell);

  Terminal terminal_;
  Styled out_;
};

void Printer::fields(const Json& object, std::size_t depth) {
  std::size_t width = 0;
  for (const auto& [key, value] : object.items())
    if (!is_nothing(value) && is_plain_value(value))
      width = std::max(width, display_width(label_of(key)));
  for (const auto& [key, value] : object.items()) {
    if (is_nothing(value)) continue;
    const std::string label = escaped(label_of(key), Layout::one_line) + ":";
    if (is_plain_value(value)) {
      const std::string words = words_of(value);
      const std::string gap(width + 3 - std::min(width + 1, display_width(label)), ' ');
      put_value(depth, label + gap, {words, key == "state" ? color_of(words) : Color::none});
      continue;
    }
    line(depth, label);
    if (value.is_object())
      fields(value, depth + 1);
    else if (is_list_of_objects(value))
      table(value, depth + 1);
    else
      items(value, depth + 1);
  }
}

void Printer::items(const Json& list, std::size_t depth) {
  for (const Json& item : list)
    put_value(depth, "- ", words_of(item));
}

void Printer::put_value(std::size_t depth, const std::string& lead, const Cell& cell) {
  const std::string text = escaped(cell.text, Layout::one_line);
  std::size_t indent = depth * kFieldIndent + display_width(lead);
  const auto room = static_cast<std::size_t>(std::max(0, terminal_.width));
  out_ += std::string(depth * kFieldIndent, ' ') + lead;
  std::vector<std::string> lines{text};
  if (room > 0 && indent + display_width(text) > room) {
    if (indent + std::max(kReadableValue, longest_word(text)) > room) {  // Below the label.
      indent = (depth + 2) * kFieldIndent;
      out_ += "\n" + std::string(indent, ' ');
    }
    lines = wrapped(text, room > indent + kReadableValue ? room - indent : kReadableValue);
  }
  for (const std::string& one : lines) {
    if (&one != &lines.front()) out_ += std::string(indent, ' ');
    out_ += Styled::painted(one, cell.color, terminal_.color_out);
    out_ += "\n";
  }
}

void Printer::table(const Json& list, std::size_t depth) {
  Table out;
  std::vector<std::string> shown;
  std::string left_out;
  const auto at = [](const Json& item, const std::string& key) {
    return item.contains(key) ? item.at(key) : Json();
  };
  for (const std::string& key : keys_of(list)) {
    const bool plain =
        std::ranges::all_of(list, [&](const Json& i) { return is_plain_value(at(i, key)); });
    if (!plain) {
      append_item(left_out, key);
      continue;
    }
    shown.push_back(key);
    out.columns.push_back({title_of(key)});
  }
  for (const Json& item : list) {
    out.rows.emplace_back();
    for (const std::string& key : shown) {
      const std::string words = words_of(at(item, key));
      out.rows.back().emplace_back(words, key == "state" ? color_of(words) : Color::none);
    }
  }
  Terminal inside = terminal_;
  inside.width = std::max(0, terminal_.width - static_cast<int>(depth * kFieldIndent));
  out_ += print_table(out, Detail::wide, inside).text.indented(depth * kFieldIndent);
  if (!left_out.empty()) line(depth, "(-o yaml shows " + left_out + " as well)");
}

}  // namespace

Styled print_description(const Json& fields, const Terminal& terminal) {
  Printer printer(terminal);
  printer.fields(fields, 0);
  return printer.take();
}

}  // namespace fastgpu::cli
