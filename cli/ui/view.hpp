// The result of a command in every output format (-o).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "cli/ui/table.hpp"

namespace fastgpu::cli {

using Json = nlohmann::ordered_json;

enum class Format : std::uint8_t { table, wide, json, yaml, name, html };

/// Parses a format. Throws ErrorKind::usage for an unknown word.
Format parse_format(std::string_view word);

struct View {
  Json root;  ///< An object whose first field is "schema".
  Table table{};
  Json described{};                  ///< One object in full, printed in place of the table.
  std::vector<std::string> names{};  ///< The lines of -o name.
  std::string page{};                ///< The page of -o html.
  std::string when_empty{};  ///< The sentence shown on stderr in place of a table without rows.
};

/// The user's wishes for a table.
struct TableStyle {
  std::string sort_by{};  ///< The column to sort by; empty for the command's own order.
  Titles titles = Titles::shown;
};

/// Returns `view` in the wished order: its rows, its names and the items of its document.
View sorted(View view, const TableStyle& request);

/// Returns `view` as text for stdout.
Printed print_view(const View& view, Format format, const Terminal& terminal,
                   Titles titles = Titles::shown);

/// Returns an object with only the field "schema": "fastgpu.<kind>/1".
Json document(std::string_view kind);

}  // namespace fastgpu::cli
