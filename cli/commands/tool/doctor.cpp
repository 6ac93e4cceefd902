#include "cli/workflows/machine_checks.hpp"

#include <algorithm>

#include "cli/commands/commands.hpp"
#include "cli/commands/show/views.hpp"
#include "cli/program/context.hpp"
#include "cli/workflows/cloud_checks.hpp"

namespace fastgpu::cli {
namespace {

View view_of(const std::vector<Check>& checks) {
  View view;
  view.root = document("doctor");
  view.root["checks"] = Json::array();
  view.table.columns = {{"CHECK"}, {"RESULT"}, {"FOUND", false, Fit::prose}};
  for (const Check& check : checks) {
    const std::string_view verdict = word_of(check.verdict);
    view.names.push_back(check.name);
    view.table.rows.push_back(
        {check.name, Cell(std::string(verdict), color_of(verdict)), check.found});
    Json item;
    item["name"] = check.name;
    item["result"] = verdict;
    item["found"] = check.found;
    item["remedy"] = check.remedy;
    view.root["checks"].push_back(std::move(item));
  }
  return view;
}

int run(Context& context) {
  auto checks = examine(context.state_directory(), context.environment(), context.cancel());
  std::ranges::move(examine_clouds(context), std::back_inserter(checks));
  context.ui().show(view_of(checks));
  for (const Check& check : checks)
    if (!check.remedy.empty()) context.ui().note(check.name + ": " + check.remedy);
  const bool failed = std::ranges::count(checks, Verdict::fail, &Check::verdict) > 0;
  return failed ? 1 : 0;
}

}  // namespace

Action make_doctor_command(Arguments& arguments) {
  arguments.offer_table();
  return [](Context& context) { return run(context); };
}

}  // namespace fastgpu::cli
