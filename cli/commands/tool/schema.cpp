#include <algorithm>
#include <array>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/program/context.hpp"

namespace fastgpu::cli {
namespace {

struct Schema {
  std::string_view file;  ///< The kind of file, or the document, that it describes.
  std::string_view text;
};

constexpr std::array kSchemas = {
    Schema{
        "job",
#include "templates/job_schema.inc"
    },
    Schema{
        "cluster",
#include "templates/cluster_schema.inc"
    },
    Schema{
        "environment",
#include "templates/environment_schema.inc"
    },
    Schema{
        "check-cluster",
#include "templates/check-cluster_schema.inc"
    },
    Schema{
        "check-net",
#include "templates/check-net_schema.inc"
    },
    Schema{
        "node",
#include "templates/node_schema.inc"
    },
};

}  // namespace

Action make_schema_command(Arguments& arguments) {
  auto file = std::make_shared<std::string>();
  Argument& kind =
      arguments.text("FILE", "", "The kind of file, or the document of a command", *file);
  kind.required = true;
  kind.values = Values::choice;
  for (const Schema& schema : kSchemas)
    kind.choices.emplace_back(schema.file);
  return [file](Context& context) {
    const auto found = std::ranges::find(kSchemas, std::string_view(*file), &Schema::file);
    context.ui().data(found->text);  // The choices are those of the table.
    return 0;
  };
}

}  // namespace fastgpu::cli
