// The result of a command, in every form of -o.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/ui/table.hpp"

namespace fastgpu::cli {

using Json = nlohmann::ordered_json;

enum class Format : std::uint8_t { table, wide, json, yaml, name, html };

/// Parses a format. Throws ErrorKind::usage for an unknown word.
Format parse_format(std::string_view word);

struct View {
  Json root;  ///< An object with "schema" first.
  Table table{};
  Json described{};                  ///< One object in full: printed in place of the table.
  std::vector<std::string> names{};  ///< The lines of -o name.
  std::string page{};                ///< The page of -o html.
  std::string when_empty{};          ///< Shown on stderr in place of a table without rows.
};

/// The form in which the rows of a table are shown.
struct TableStyle {
  std::string sort_by{};  ///< A column; empty: the command's own order.
  Titles titles = Titles::shown;
};

/// Returns `view` with its rows, their names and their items in the document in the wished order.
View sorted(View view, const TableStyle& wish);

/// Returns `view` as the text that goes to stdout.
Printed print_view(const View& view, Format format, const Terminal& terminal,
                   Titles titles = Titles::shown);

/// Returns an object whose first field is its schema: {"schema": "fastgpu.<kind>/1"}.
Json document(std::string_view kind);

}  // namespace fastgpu::cli
