// Rows in columns, as wide as what stands in them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/ui/styled.hpp"
#include "cli/ui/terminal.hpp"

namespace fastgpu::cli {

/// What happens to a column on a terminal that is too narrow. Nothing is ever cut: names,
/// addresses and identifiers are there to be copied.
enum class Fit : std::uint8_t {
  whole,     ///< Its cells stay as they are; the row goes on in a further line where needed.
  prose,     ///< Its cells are broken at blanks into several lines.
  optional,  ///< It is left out, unless -o wide asks for it.
};

struct Column {
  std::string title;
  bool only_wide = false;  ///< Shown with -o wide alone.
  Fit fit = Fit::whole;
};

struct Cell {
  Cell(std::string words, Color tint = Color::none) : text(std::move(words)), color(tint) {}
  Cell(const char* words) : text(words) {}
  std::string text;
  Color color = Color::none;
};

/// The colour of a state's word: "running" is green.
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

/// The table as text. On a terminal (`width` above 0) prose is broken into lines, optional columns
/// are left out, the last one first, and what still has no room goes on in an indented line.
/// Elsewhere a row is one line. Each cell is escaped to one line.
Printed print_table(const Table& table, Detail detail, const Terminal& terminal,
                    Titles titles = Titles::shown);

/// Returns the order of the rows by the column that `title` names, whatever its case; "idle-stop"
/// means IDLE STOP. Numbers, durations and sizes go by their value, names as people count: node-2
/// before node-10; what is unknown comes last. Throws ErrorKind::usage, with the columns, for a
/// column that is none.
std::vector<std::size_t> sorted_rows(const Table& table, std::string_view title);

}  // namespace fastgpu::cli
