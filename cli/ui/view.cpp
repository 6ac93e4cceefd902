#include "cli/ui/view.hpp"

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/utf8.hpp"
#include "cli/ui/description.hpp"
#include "cli/ui/json_text.hpp"
#include "cli/ui/yaml.hpp"

namespace fastgpu::cli {

namespace {

Printed for_people(const View& view, Detail detail, const Terminal& terminal, Titles titles) {
  if (!view.described.is_null()) return {print_description(view.described, terminal)};
  return view.table.rows.empty() ? Printed{} : print_table(view.table, detail, terminal, titles);
}

/// Reorders `list` if it has one entry for each row.
template <class List>
void put_in_order(List& list, const std::vector<std::size_t>& order) {
  if (list.size() != order.size()) return;
  const List before = list;
  for (std::size_t i = 0; i < order.size(); ++i)
    list[i] = before[order[i]];
}

}  // namespace

Format parse_format(std::string_view word) {
  if (word == "table") return Format::table;
  if (word == "wide") return Format::wide;
  if (word == "json") return Format::json;
  if (word == "yaml") return Format::yaml;
  if (word == "name") return Format::name;
  if (word == "html") return Format::html;
  throw Error(ErrorKind::usage,
              "--output '" + printable(word) + "' is not one of table, wide, json, yaml, name");
}

View sorted(View view, const TableStyle& request) {
  if (request.sort_by.empty() || view.table.columns.empty()) return view;
  const std::vector<std::size_t> order = sorted_rows(view.table, request.sort_by);
  put_in_order(view.table.rows, order);
  put_in_order(view.names, order);
  for (auto& [key, value] : view.root.items())
    if (value.is_array()) put_in_order(value, order);
  return view;
}

Printed print_view(const View& view, Format format, const Terminal& terminal, Titles titles) {
  switch (format) {
    case Format::table:
      return for_people(view, Detail::usual, terminal, titles);
    case Format::wide:
      return for_people(view, Detail::wide, terminal, titles);
    case Format::json:
      return {Styled(json_text(view.root, 2) + "\n")};
    case Format::yaml:
      return {Styled(to_yaml(view.root))};
    case Format::html:
      return {Styled(view.page)};
    case Format::name:
      break;
  }
  std::string out;
  for (const std::string& name : view.names)
    out += escaped(name, Layout::one_line) + "\n";
  return {Styled(std::move(out))};
}

Json document(std::string_view kind) {
  Json root = Json::object();
  root["schema"] = "fastgpu." + std::string(kind) + "/1";
  return root;
}

}  // namespace fastgpu::cli
