#include "cli/ui/view.hpp"

#include "base/error.hpp"
#include "base/names.hpp"
#include "cli/ui/description.hpp"
#include "cli/ui/yaml.hpp"

namespace fastgpu::cli {

namespace {

std::string for_people(const View& view, Detail detail, const Terminal& terminal) {
  if (!view.described.is_null()) return print_description(view.described, terminal);
  return view.table.rows.empty() ? "" : print_table(view.table, detail, terminal);
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
              "--output '" + printable(word) + "' is none of table, wide, json, yaml, name");
}

std::string print_view(const View& view, Format format, const Terminal& terminal) {
  switch (format) {
    case Format::table:
      return for_people(view, Detail::usual, terminal);
    case Format::wide:
      return for_people(view, Detail::wide, terminal);
    case Format::json:
      return view.root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
    case Format::yaml:
      return to_yaml(view.root);
    case Format::html:
      return view.page;
    case Format::name:
      break;
  }
  std::string out;
  for (const std::string& name : view.names)
    out += name + "\n";
  return out;
}

Json document(std::string_view kind) {
  Json root = Json::object();
  root["schema"] = "fastgpu." + std::string(kind) + "/1";
  return root;
}

}  // namespace fastgpu::cli
