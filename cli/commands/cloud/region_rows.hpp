// The answers of clouds in many regions as rows of one table.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.hpp"
#include "cli/commands/cluster/cloud_options.hpp"
#include "cli/program/arguments.hpp"
#include "cli/program/context.hpp"
#include "cli/ui/view.hpp"
#include "provision/cloud/survey.hpp"

namespace fastgpu::cli {

/// Adds --cloud, --region and the flags of tables.
std::shared_ptr<CloudOptions> describe_looking(Arguments& arguments);
/// Adds the same, and the flags of machines and prices.
std::shared_ptr<CloudOptions> describe_shopping(Arguments& arguments);

/// One row of the results from many regions.
struct Row {
  std::vector<Cell> cells;
  Json item;
  std::string name;
};

/// Warns of the regions that failed, once for each reason. Throws if all failed.
void warn_of_failures(Context& context, const provision::cloud::RegionAnswers& heard);

/// Calls `ask` for every cloud in every region at once, and returns all that is found. Regions that
/// fail are left out, and each reason is reported once. Throws if all fail.
template <class Item>
std::vector<Item> found_in_regions(Context& context, const CloudOptions& options,
                                   const std::function<std::vector<Item>(const CloudPlace&)>& ask) {
  const auto places = places_of(context, options);
  auto answers = parallel_map(std::span(places), places.size(), ask);
  context.cancel().check();
  std::vector<Item> found;
  provision::cloud::RegionAnswers heard;
  for (std::size_t i = 0; i < places.size(); ++i) {
    provision::cloud::RegionName where(places[i].cloud->name(), places[i].region);
    if (!answers[i].ok()) {
      heard.failed.emplace_back(std::move(where), answers[i].error());
      continue;
    }
    heard.answered.push_back(std::move(where));
    std::ranges::move(std::move(answers[i]).value(), std::back_inserter(found));
  }
  warn_of_failures(context, heard);
  return found;
}

/// Returns such rows.
std::vector<Row> rows_of(Context& context, const CloudOptions& options,
                         const std::function<std::vector<Row>(const CloudPlace&)>& ask);

/// Shows the rows as a table, and as a document with them in the field `kind`.
void show_rows(Context& context, const char* kind, std::vector<Column> columns,
               const std::vector<Row>& rows);

}  // namespace fastgpu::cli
