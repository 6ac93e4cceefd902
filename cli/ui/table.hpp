// Rows in columns, as wide as what stands in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/ui/terminal.hpp"

namespace fastgpu::cli {

struct Column {
  std::string title;
  bool only_wide = false;  ///< Shown with -o wide alone.
};

struct Cell {
  Cell(std::string words, Color tint = Color::none) : text(std::move(words)), color(tint) {}
  Cell(const char* words) : text(words) {}
  std::string text;
  Color color = Color::none;
};

/// The colour of a state's word: "running" is green.
Color color_of(std::string_view state) noexcept;

/// The cell's text in its colour, where `terminal` shows colours on stdout.
std::string painted(const Cell& cell, const Terminal& terminal);

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< Each with one cell a column.
};

enum class Detail : std::uint8_t { usual, wide };

/// The table as text. On a terminal (`width` above 0) the widest columns are cut so that a row
/// stays on one line; elsewhere nothing is ever cut. Control characters are shown escaped.
std::string print_table(const Table& table, Detail detail, const Terminal& terminal);

}  // namespace fastgpu::cli
