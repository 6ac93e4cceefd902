#include <memory>
#include <string>
#include <vector>

#include "base/contains.hpp"
#include "base/join.hpp"
#include "cli/commands/commands.hpp"
#include "cli/program/context.hpp"
#include "cli/program/documents.hpp"
#include "cli/program/schemas.hpp"
#include "cli/ui/view.hpp"

namespace fastgpu::cli {
namespace {

/// Returns the commands that show a kind of document.
std::vector<std::string> commands_with(std::string_view kind) {
  std::vector<std::string> found;
  for (const DocumentsOf& one : all_documents())
    if (contains(one.kinds(), kind)) found.emplace_back(one.command);
  return found;
}

/// Returns the usual name of the file that the schema describes.
std::string file_of(const Schema& schema) {
  return std::string(schema.name == "environment" ? "env" : schema.name) + ".yaml";
}

/// Returns the rows of `fastgpu schema` without a name.
View view_of_schemas() {
  View view;
  view.root = document("schemas");
  view.root["schemas"] = Json::array();
  view.table.columns = {{"NAME"}, {"DESCRIBES"}, {"COMMANDS", false, Fit::prose}};
  for (const Schema& schema : all_schemas()) {
    const std::string_view kind = document_kind(schema);
    const std::string name(schema.name);
    const std::string describes =
        kind.empty() ? file_of(schema) : document(kind)["schema"].get<std::string>();
    const auto commands = kind.empty() ? std::vector<std::string>() : commands_with(kind);
    view.names.push_back(name);
    view.table.rows.push_back({name, describes, commands.empty() ? "-" : joined(commands)});
    view.root["schemas"].push_back(
        {{"name", name}, {"describes", describes}, {"commands", commands}});
  }
  return view;
}

}  // namespace

Action make_schema_command(Arguments& arguments) {
  arguments.offer_table();
  auto name = std::make_shared<std::string>();
  arguments.text("NAME", "", "A file or a document: job, nodes, fastgpu.nodes/1 (list all)", *name)
      .values = Values::schema;
  return [name](Context& context) {
    if (name->empty())
      context.ui().show(view_of_schemas());
    else
      context.ui().data(find_schema(*name).text);
    return 0;
  };
}

}  // namespace fastgpu::cli
