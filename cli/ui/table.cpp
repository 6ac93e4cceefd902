#include "cli/ui/table.hpp"

#include <algorithm>
#include <numeric>

#include "cli/ui/text.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 8;

std::vector<std::size_t> shown_columns(const Table& table, Detail detail) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (!table.columns[i].only_wide || detail == Detail::wide) shown.push_back(i);
  return shown;
}

/// Narrows the widest columns until a row fits into `room`.
void fit(std::vector<std::size_t>& widths, std::size_t room) {
  for (;;) {
    const std::size_t total =
        std::accumulate(widths.begin(), widths.end(), std::size_t{0}) + kGap * (widths.size() - 1);
    const auto widest = std::ranges::max_element(widths);
    if (total <= room || *widest <= kNarrowest) return;
    --*widest;
  }
}

}  // namespace

Color color_of(std::string_view state) noexcept {
  if (state == "running" || state == "succeeded" || state == "ok") return Color::green;
  if (state == "failed" || state == "lost" || state == "degraded" || state == "fail")
    return Color::red;
  if (state == "stopped" || state == "cancelled") return Color::dim;
  return Color::yellow;
}

std::string painted(const Cell& cell, const Terminal& terminal) {
  if (!terminal.color_out || cell.color == Color::none) return cell.text;
  return std::string(escape(cell.color)) + cell.text + std::string(kColorEnd);
}

std::string print_table(const Table& table, Detail detail, const Terminal& terminal) {
  const std::vector<std::size_t> shown = shown_columns(table, detail);
  if (shown.empty()) return "";
  std::vector<std::vector<Cell>> lines(1);
  for (const std::size_t i : shown)
    lines[0].emplace_back(table.columns[i].title, Color::bold);
  for (const auto& row : table.rows) {
    lines.emplace_back();
    for (const std::size_t i : shown)
      lines.back().emplace_back(one_line(row[i].text), row[i].color);
  }
  std::vector<std::size_t> widths(shown.size());
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i)
      widths[i] = std::max(widths[i], display_width(line[i].text));
  if (terminal.width > 0) fit(widths, static_cast<std::size_t>(terminal.width));
  std::string out;
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      const std::string text = cut_in_middle(line[i].text, widths[i]);
      out += painted({text, line[i].color}, terminal);
      if (i + 1 < line.size()) out += std::string(widths[i] - display_width(text) + kGap, ' ');
    }
    out += '\n';
  }
  return out;
}

}  // namespace fastgpu::cli
