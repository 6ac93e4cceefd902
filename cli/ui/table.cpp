#include "cli/ui/table.hpp"

#include <algorithm>
#include <cstdlib>
#include <forward_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/ascii.hpp"
#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "base/units.hpp"
#include "base/utf8.hpp"
#include "cli/ui/text.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kTableIndent = 2;  // The indent of the lines in which a row continues.
constexpr std::size_t kProse = 28;       // A narrower column of prose is hard to read.
constexpr std::size_t kUnlimitedWidth = ~std::size_t{0};
constexpr std::size_t kUnlimitedHeight = ~std::size_t{0};

/// A cell as it is printed. Its text belongs to the table, or to the strip if it was escaped.
struct PrintedCell {
  std::string_view text{};
  Color color = Color::none;
  std::size_t width = 0;  ///< Terminal columns.
};

/// One column of the table and its cells. The title is the first cell.
struct Strip {
  const Column* column = nullptr;
  std::vector<PrintedCell> cells{};
  std::forward_list<std::string> escaped_texts{};
  std::size_t natural = 0;       ///< Terminal columns of the widest cell.
  std::size_t longest_word = 0;  ///< Terminal columns of the longest word.
  std::size_t width = 0;         ///< Terminal columns of the strip as printed.

  bool is_prose() const { return column->fit == Fit::prose; }
  std::size_t least() const {
    return is_prose() ? std::max(longest_word, std::min(natural, kProse)) : natural;
  }
};

void add_cell(Strip& strip, std::string_view text, Color color) {
  PrintedCell cell{.text = text, .color = color, .width = text.size()};
  if (!is_printable_ascii(text)) {
    strip.escaped_texts.push_front(escaped(text, Layout::one_line));
    cell.text = strip.escaped_texts.front();
    cell.width = display_width(cell.text);
  }
  strip.natural = std::max(strip.natural, cell.width);
  if (strip.is_prose() && cell.width > strip.longest_word)
    strip.longest_word = std::max(strip.longest_word, longest_word(cell.text));
  strip.cells.push_back(cell);
}

Strip strip_of(const Table& table, std::size_t index, Titles titles) {
  Strip strip{.column = &table.columns[index]};
  strip.cells.reserve(table.rows.size() + 1);
  if (titles == Titles::shown) add_cell(strip, strip.column->title, Color::bold);
  for (const auto& row : table.rows)
    add_cell(strip, row[index].text, row[index].color);
  strip.width = strip.natural;
  return strip;
}

/// Returns the terminal columns of a row if all prose is as narrow as possible.
std::size_t least_width(const std::vector<Strip>& strips) {
  std::size_t total = kGap * (strips.size() - 1);
  for (const Strip& strip : strips)
    total += strip.least();
  return total;
}

/// Removes optional strips, from the last one on, until a row fits into `room`. Returns their
/// titles.
std::string drop_optional(std::vector<Strip>& strips, std::size_t room) {
  std::string left_out;
  while (least_width(strips) > room) {
    const auto last = std::find_if(strips.rbegin(), strips.rend(), [](const Strip& strip) {
      return strip.column->fit == Fit::optional;
    });
    if (last == strips.rend()) break;
    left_out = last->column->title + (left_out.empty() ? "" : ", ") + left_out;
    strips.erase(std::next(last).base());
  }
  return left_out;
}

/// Returns the columns that the cells of `strip` need if they are broken into lines of `width`.
std::size_t width_broken(const Strip& strip, std::size_t width) {
  std::size_t widest = 0;
  for (const PrintedCell& cell : strip.cells)
    for (const std::string& line : wrapped(cell.text, width))
      widest = std::max(widest, display_width(line));
  return widest;
}

/// Gives the spare room to the columns of prose.
void share_room(std::vector<Strip>& strips, std::size_t room) {
  const std::size_t least = least_width(strips);
  std::size_t spare = room > least ? room - least : 0;
  for (Strip& strip : strips) {
    const std::size_t more = std::min(spare, strip.natural - strip.least());
    strip.width = strip.least() + more;
    if (strip.width < strip.natural) strip.width = width_broken(strip, strip.width);
    spare -= more;
  }
}

using Lines = std::vector<std::vector<const Strip*>>;

/// Distributes the strips over lines, so that each line fits into `room`.
Lines lines_of(const std::vector<Strip>& strips, std::size_t room) {
  Lines lines(1);
  std::size_t used = 0;
  for (const Strip& strip : strips) {
    const std::size_t indent = lines.size() > 1 ? kTableIndent : 0;
    if (!lines.back().empty() && indent + used + kGap + strip.width > room) {
      lines.emplace_back();
      used = 0;
    }
    used += (lines.back().empty() ? 0 : kGap) + strip.width;
    lines.back().push_back(&strip);
  }
  return lines;
}

/// Returns true if a cell is printed in several lines of the terminal.
bool is_broken(const Strip& strip, const PrintedCell& cell) {
  return strip.is_prose() && cell.width > strip.width;
}

/// Prints one line of the terminal. `cells` are the parts of a row in it.
void print_cells(const std::vector<const Strip*>& line, std::span<const PrintedCell> cells,
                 std::size_t indent, bool colored, Styled& out) {
  std::size_t blanks = indent;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!cells[i].text.empty()) {
      out.add_blanks(blanks);
      out.add_painted(cells[i].text, cells[i].color, colored);
      blanks = 0;
    }
    blanks += line[i]->width - cells[i].width + kGap;
  }
  out += "\n";
}

/// Prints the part of a row that is in one line of strips. Broken prose takes several lines of the
/// terminal.
void print_line(const std::vector<const Strip*>& line, std::size_t row, std::size_t indent,
                bool colored, Styled& out) {
  std::vector<PrintedCell> cells;
  cells.reserve(line.size());
  std::vector<std::vector<std::string>> prose;  // The lines of each cell; empty for a whole one.
  std::size_t height = 1;
  for (std::size_t i = 0; i < line.size(); ++i) {
    cells.push_back(line[i]->cells[row]);
    if (!is_broken(*line[i], cells[i])) continue;
    prose.resize(line.size());
    prose[i] = wrapped(cells[i].text, line[i]->width);
    height = std::max(height, prose[i].size());
  }
  for (std::size_t at = 0; at < height; ++at) {
    for (std::size_t i = 0; i < prose.size(); ++i) {
      const bool has_piece = prose[i].empty() ? at == 0 : at < prose[i].size();
      if (!prose[i].empty() && has_piece) cells[i].text = prose[i][at];
      if (!has_piece) cells[i].text = {};
      if (!prose[i].empty() || !has_piece) cells[i].width = display_width(cells[i].text);
    }
    print_cells(line, cells, indent, colored, out);
  }
}

/// The value by which a cell is sorted.
struct SortKey {
  enum class Kind : std::uint8_t { quantity, text, unknown } kind = Kind::text;
  double quantity = 0;
  std::string unit{};  ///< The text after the number: " USD/h".
  std::string text{};
};

bool is_unknown(std::string_view text) {
  return text.empty() || text == "-" || text == "?" || text == "never" || text == "unknown";
}

/// Reads a number with a unit, such as "0.53 USD/h" or "0/h", or without one.
std::optional<SortKey> number_with_unit(const std::string& text) {
  char* rest = nullptr;
  const double number = std::strtod(text.c_str(), &rest);
  const std::string_view unit(rest);
  if (rest == text.c_str() || (!unit.empty() && unit.front() != ' ' && unit != "/h"))
    return std::nullopt;
  return SortKey{.kind = SortKey::Kind::quantity, .quantity = number, .unit = std::string(unit)};
}

bool is_price(const SortKey& key) {
  return key.unit.ends_with("/h");
}

/// Reads a number with a unit and perhaps a remark: "3 (1 lost)". If a price has the price in
/// another currency as its remark, that one counts, because it is comparable with other rows:
/// "13.46 CNY/h (2.03 USD/h)".
std::optional<SortKey> with_unit(const std::string& text) {
  const std::size_t begin = text.find(" (");
  if (begin == std::string::npos || text.back() != ')') return number_with_unit(text);
  const auto key = number_with_unit(text.substr(0, begin));
  if (!key || !is_price(*key)) return key;
  const auto remark = number_with_unit(text.substr(begin + 2, text.size() - begin - 3));
  return remark && is_price(*remark) ? remark : key;
}

/// Reads a duration or a size: "3m", "1h30m", "86 MB".
std::optional<SortKey> measured(const std::string& text) {
  SortKey key{.kind = SortKey::Kind::quantity};
  try {
    key.quantity = static_cast<double>(parse_duration(text).count());
    key.unit = "ms";
    return key;
  } catch (const Error&) {  // It may be a size.
  }
  try {
    key.quantity = static_cast<double>(parse_size(text).count);
    return key;
  } catch (const Error&) {
    return std::nullopt;
  }
}

SortKey key_of(const std::string& cell) {
  const std::string text = cell.starts_with("in ") ? cell.substr(3) : cell;
  if (is_unknown(text)) return {.kind = SortKey::Kind::unknown};
  auto key = measured(text);
  if (!key) key = with_unit(text);
  if (!key) return {.text = text};
  if (key->quantity == 0) key->unit.clear();  // Zero comes first in any unit.
  return *key;
}

/// Returns true if `a` comes before `b`. Compares runs of digits as numbers.
bool comes_before(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (!is_ascii_digit(a.front()) || !is_ascii_digit(b.front())) {
      if (a.front() != b.front()) return a.front() < b.front();
      a.remove_prefix(1);
      b.remove_prefix(1);
      continue;
    }
    const auto take = [](std::string_view& text) {
      text.remove_prefix(std::min(text.find_first_not_of('0'), text.size()));
      const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
      const std::string_view number = text.substr(0, end);
      text.remove_prefix(end);
      return number;
    };
    const std::string_view first = take(a);
    const std::string_view second = take(b);
    if (first.size() != second.size()) return first.size() < second.size();
    if (first != second) return first < second;
  }
  return a.size() < b.size();
}

bool comes_before(const SortKey& a, const SortKey& b) {
  if (a.kind != b.kind) return a.kind < b.kind;
  if (a.kind == SortKey::Kind::text) return comes_before(std::string_view(a.text), b.text);
  return std::tie(a.unit, a.quantity) < std::tie(b.unit, b.quantity);
}

std::string plain_title(std::string_view title) {
  std::string out = ascii_upper(title);
  for (char& c : out)
    if (c == '-' || c == '_') c = ' ';
  return out;
}

std::size_t column_of(const Table& table, std::string_view title) {
  const std::string wanted = plain_title(title);
  std::string all;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (plain_title(table.columns[i].title) == wanted) return i;
    append_item(all, table.columns[i].title);
  }
  throw Error(ErrorKind::usage,
              "--sort-by '" + printable(title) + "' is not a column of this table: it has " + all);
}

}  // namespace

std::vector<std::size_t> sorted_rows(const Table& table, std::string_view title) {
  const std::size_t column = column_of(table, title);
  std::vector<SortKey> keys;
  std::vector<std::size_t> order;
  for (const auto& row : table.rows) {
    order.push_back(keys.size());
    keys.push_back(key_of(row[column].text));
  }
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return comes_before(keys[a], keys[b]); });
  return order;
}

Color color_of(std::string_view state) noexcept {
  if (state == "running" || state == "succeeded" || state == "ok") return Color::green;
  if (state == "failed" || state == "lost" || state == "degraded" || state == "fail" ||
      state == "unreachable")
    return Color::red;
  if (state == "stopped" || state == "cancelled") return Color::dim;
  return Color::yellow;
}

Printed print_table(const Table& table, Detail detail, const Terminal& terminal, Titles titles) {
  std::vector<Strip> strips;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (!table.columns[i].only_wide || detail == Detail::wide)
      strips.push_back(strip_of(table, i, titles));
  if (strips.empty()) return {};
  const std::size_t room =
      terminal.width > 0 ? static_cast<std::size_t>(terminal.width) : kUnlimitedWidth;
  Printed out;
  if (detail == Detail::usual) out.left_out = drop_optional(strips, room);
  share_room(strips, room);
  const Lines lines = lines_of(strips, room);
  for (std::size_t row = 0; row < strips.front().cells.size(); ++row)
    for (const auto& line : lines)
      print_line(line, row, &line == &lines.front() ? 0 : kTableIndent, terminal.color_out,
                 out.text);
  return out;
}

namespace {

/// Returns the lines that a text without colours takes on a terminal.
std::size_t height_of(std::string_view text, int width) {
  const std::size_t columns = width > 0 ? static_cast<std::size_t>(width) : kUnlimitedWidth;
  std::size_t height = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::size_t used = display_width(text.substr(0, end));
    height += used == 0 ? 1 : (used - 1) / columns + 1;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return height;
}

bool has_red_cell(const std::vector<Cell>& row) {
  return std::ranges::any_of(row, [](const Cell& cell) { return cell.color == Color::red; });
}

/// Returns the table with `count` of its rows, in their order: the first ones, but none without a
/// red cell in place of one that has one.
Table with_rows(const Table& table, std::size_t count) {
  const auto red = static_cast<std::size_t>(std::ranges::count_if(table.rows, has_red_cell));
  std::size_t red_left = std::min(red, count);
  std::size_t others_left = count - red_left;
  Table part{.columns = table.columns, .rows = {}};
  for (const auto& row : table.rows) {
    std::size_t& left = has_red_cell(row) ? red_left : others_left;
    if (left == 0) continue;
    --left;
    part.rows.push_back(row);
  }
  return part;
}

}  // namespace

Styled print_screen(const Table& table, Detail detail, const Terminal& terminal,
                    std::string_view noun, Titles titles) {
  const std::size_t room =
      terminal.rows > 0 ? static_cast<std::size_t>(terminal.rows) - 1 : kUnlimitedHeight;
  Terminal plain = terminal;
  plain.color_out = false;
  const auto height = [&](const Table& part) {
    return height_of(print_table(part, detail, plain, titles).text.str(), terminal.width);
  };
  // A row takes one line at least.
  if (table.rows.size() <= room && height(table) <= room)
    return print_table(table, detail, terminal, titles).text;
  Table part = with_rows(table, std::min(table.rows.size(), room));
  while (!part.rows.empty() && height(part) + 1 > room)
    part = with_rows(table, part.rows.size() - 1);
  Styled text;
  if (height(part) + 1 <= room) text = print_table(part, detail, terminal, titles).text;
  text +=
      "... " + counted(table.rows.size() - part.rows.size(), "more " + std::string(noun)) + "\n";
  return text;
}

}  // namespace fastgpu::cli
