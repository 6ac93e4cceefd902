#include "cli/commands/cloud/region_rows.hpp"

#include <algorithm>

#include "base/parallel.hpp"
#include "provision/cloud/survey.hpp"

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

std::vector<Row> rows_of(Context& context, const CloudOptions& options,
                         const std::function<std::vector<Row>(const CloudPlace&)>& ask) {
  const auto places = places_of(context, options);
  const auto answers = parallel_map(std::span(places), places.size(), ask);
  context.cancel().check();
  std::vector<Row> rows;
  provision::cloud::RegionAnswers heard;
  for (std::size_t i = 0; i < places.size(); ++i) {
    provision::cloud::RegionName where(places[i].cloud->name(), places[i].region);
    if (!answers[i].ok()) {
      heard.failed.emplace_back(std::move(where), answers[i].error());
      continue;
    }
    heard.answered.push_back(std::move(where));
    std::ranges::copy(answers[i].value(), std::back_inserter(rows));
  }
  if (heard.answered.empty() && !heard.failed.empty()) throw Error(heard.failed.front().second);
  for (const std::string& reason : provision::cloud::reasons(heard))
    context.ui().warn(reason);
  return rows;
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
