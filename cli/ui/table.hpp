// Tables, whose columns are as wide as their contents.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/ui/styled.hpp"
#include "cli/ui/terminal.hpp"

namespace fastgpu::cli {

/// The treatment of a column on a narrow terminal. Text is never cut, because users copy names,
/// addresses and identifiers.
enum class Fit : std::uint8_t {
  whole,  ///< Cells stay unchanged. If the column has no room, the row continues in a further line.
  prose,  ///< Cells are broken at blanks.
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
  std::vector<std::vector<Cell>> rows;  ///< Each row has one cell per column.
};

enum class Detail : std::uint8_t { usual, wide };
enum class Titles : std::uint8_t { shown, left_out };

struct Printed {
  Styled text;
  std::string left_out{};  ///< The titles of the optional columns that were left out: "AGE, SLOTS".
};

/// Returns the table as text. On a terminal (`width` above 0), prose is broken into lines, and
/// optional columns are left out, the last one first. Columns that still have no room continue in
/// an indented line. Elsewhere, each row is one line. Cells are escaped to one line.
Printed print_table(const Table& table, Detail detail, const Terminal& terminal,
                    Titles titles = Titles::shown);

/// Returns as much of the table as fits on the terminal's screen above the line of the cursor.
/// Leaves out rows from the end, those with a red cell last, and ends with their number: "... 17
/// more nodes", where `noun` is "node". All of it fits if the height is unknown (0).
Styled print_screen(const Table& table, Detail detail, const Terminal& terminal,
                    std::string_view noun, Titles titles = Titles::shown);

/// Returns the indexes of the rows in the order of the column `title`, in any case; "idle-stop"
/// means IDLE STOP. Numbers, durations and sizes are sorted by value, prices by currency and value,
/// or by the comparable price beside them, names by the numbers in them (node-2 before node-10).
/// Unknown values come last. Throws ErrorKind::usage, with the names of
/// the columns, for an unknown column.
std::vector<std::size_t> sorted_rows(const Table& table, std::string_view title);

}  // namespace fastgpu::cli
