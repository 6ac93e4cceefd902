// The answers of clouds in many regions as rows of one table.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands/cluster/cloud_options.hpp"
#include "cli/program/arguments.hpp"
#include "cli/program/context.hpp"
#include "cli/ui/view.hpp"

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

/// Calls `ask` for every cloud in every region at once. Regions that fail are left out, and each
/// reason is reported once. Throws if all fail.
std::vector<Row> rows_of(Context& context, const CloudOptions& options,
                         const std::function<std::vector<Row>(const CloudPlace&)>& ask);

/// Shows the rows as a table, and as a document with them in the field `kind`.
void show_rows(Context& context, const char* kind, std::vector<Column> columns,
               const std::vector<Row>& rows);

}  // namespace fastgpu::cli
