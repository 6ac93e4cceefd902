#include "cli/commands/shared/dry_run.hpp"

namespace fastgpu::cli {

void describe_dry_run(Arguments& arguments, bool& dry_run) {
  arguments.flag("--dry-run", "Check and show the steps, without running them", dry_run);
}

int show_dry_run(Ui& ui, std::string_view command, std::string_view subject,
                 const std::vector<std::string>& steps) {
  View view;
  view.root = document("dry-run");
  view.root["command"] = command;
  view.root["subject"] = subject;
  view.root["steps"] = steps;
  view.table.columns = {{"STEP"}};
  view.when_empty = "nothing to do";
  for (const std::string& step : steps) {
    view.names.push_back(step);
    view.table.rows.push_back({step});
  }
  ui.show(view);
  ui.note("dry run: nothing was changed");
  return 0;
}

}  // namespace fastgpu::cli
