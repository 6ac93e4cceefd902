#include "cli/commands/cloud/region_rows.hpp"

#include <algorithm>

namespace fastgpu::cli {

std::shared_ptr<CloudOptions> describe_looking(Arguments& arguments) {
  auto options = std::make_shared<CloudOptions>();
  describe_place_options(arguments, *options);
  arguments.offer_table();
  return options;
}

std::shared_ptr<CloudOptions> describe_shopping(Arguments& arguments) {
  auto options = describe_looking(arguments);
  describe_machine_options(arguments, *options);
  return options;
}

void warn_of_failures(Context& context, const provision::cloud::RegionAnswers& heard) {
  if (heard.answered.empty() && !heard.failed.empty()) throw Error(heard.failed.front().second);
  for (const std::string& reason : provision::cloud::reasons(heard))
    context.ui().warn(reason);
}

std::vector<Row> rows_of(Context& context, const CloudOptions& options,
                         const std::function<std::vector<Row>(const CloudPlace&)>& ask) {
  return found_in_regions<Row>(context, options, ask);
}

void show_rows(Context& context, const char* kind, std::vector<Column> columns,
               const std::vector<Row>& rows) {
  View view;
  std::string schema(kind);
  std::ranges::replace(schema, '_', '-');
  view.root = document(schema);
  view.root[kind] = Json::array();
  view.table.columns = std::move(columns);
  view.when_empty = "none found";
  for (const Row& row : rows) {
    view.table.rows.push_back(row.cells);
    view.root[kind].push_back(row.item);
    view.names.push_back(row.name);
  }
  context.ui().show(view);
}

}  // namespace fastgpu::cli
