// What a command shows, in every form that -o can ask for.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/ui/table.hpp"

namespace fastgpu::cli {

using Json = nlohmann::ordered_json;

enum class Format : std::uint8_t { table, wide, json, yaml, name, html };

/// Throws ErrorKind::usage for a word that is none.
Format parse_format(std::string_view word);

struct View {
  Json root;  ///< An object with "schema" first.
  Table table{};
  Json described{};                  ///< One thing in full: printed in place of the table.
  std::vector<std::string> names{};  ///< One a line under -o name.
  std::string page{};                ///< Under -o html.
  std::string when_empty{};          ///< Said on stderr in place of a table without rows.
};

/// How the rows of a table are to be shown.
struct TableWish {
  std::string sort_by{};  ///< A column; empty: as the command has them.
  Titles titles = Titles::shown;
};

/// Returns `view` with its rows, their names and their items in the document in the wished order.
View sorted(View view, const TableWish& wish);

/// `view` as the text that goes to stdout.
Printed print_view(const View& view, Format format, const Terminal& terminal,
                   Titles titles = Titles::shown);

/// An object whose first field is its schema: {"schema": "fastgpu.<kind>/1"}.
Json document(std::string_view kind);

}  // namespace fastgpu::cli
