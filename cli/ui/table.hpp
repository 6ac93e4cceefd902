// Rows in columns, as wide as their contents.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/ui/styled.hpp"
#include "cli/ui/terminal.hpp"

namespace fastgpu::cli {

/// The treatment of a column on a terminal that is too narrow. Text is never cut: names, addresses
/// and identifiers must be complete for copying.
enum class Fit : std::uint8_t {
  whole,     ///< Cells stay unchanged; the row goes on in a further line if needed.
  prose,     ///< Cells are broken at blanks into several lines.
  optional,  ///< The column is left out, except with -o wide.
};

struct Column {
  std::string title;
  bool only_wide = false;  ///< Shown only with -o wide.
  Fit fit = Fit::whole;
};

struct Cell {
  Cell(std::string words, Color tint = Color::none) : text(std::move(words)), color(tint) {}
  Cell(const char* words) : text(words) {}
  std::string text;
  Color color = Color::none;
};

/// Returns the colour of a state's word: "running" is green.
Color color_of(std::string_view state) noexcept;

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< Each with one cell a column.
};

enum class Detail : std::uint8_t { usual, wide };
enum class Titles : std::uint8_t { shown, left_out };

struct Printed {
  Styled text;
  std::string left_out{};  ///< Titles of the optional columns that had no room: "AGE, SLOTS".
};

/// Returns the table as text. On a terminal (`width` above 0) prose is broken into lines, and
/// optional columns are left out, the last one first. Columns that still have no room go on in an
/// indented line. Elsewhere a row is one line. Each cell is escaped to one line.
Printed print_table(const Table& table, Detail detail, const Terminal& terminal,
                    Titles titles = Titles::shown);

/// Returns the order of the rows by the column that `title` names, in any case; "idle-stop" means
/// IDLE STOP. Numbers, durations and sizes go by their value, names as people count: node-2 before
/// node-10; unknown values come last. Throws ErrorKind::usage, with the columns, for an unknown
/// column.
std::vector<std::size_t> sorted_rows(const Table& table, std::string_view title);

}  // namespace fastgpu::cli
