// env diff: what two lock files install differently.
#include <memory>
#include <utility>

#include "cli/commands/commands.hpp"
#include "cli/commands/env/env_install.hpp"

namespace fastgpu::cli {
namespace {

struct DiffOptions {
  std::string before;
  std::string after;
};

int diff(Context& context, const DiffOptions& options) {
  const auto before = read_lock_file(options.before);
  const auto lines = differences(before, read_lock_file(options.after));
  View view;
  view.when_empty = "no difference";
  view.root = document("environment-diff");
  view.root["differences"] = lines;
  view.table.columns = {{"DIFFERENCE", false, Fit::prose}};
  for (const std::string& line : lines)
    view.table.rows.push_back({line});
  view.names = lines;
  context.ui().show(view);
  return lines.empty() ? 0 : 1;
}

}  // namespace

Action make_env_diff_command(Arguments& arguments) {
  auto options = std::make_shared<DiffOptions>();
  for (auto [name, target] : {std::pair{"BEFORE", &options->before}, {"AFTER", &options->after}}) {
    Argument& file = arguments.text(name, "", "A lock file", *target);
    file.required = true;
    file.values = Values::path;
  }
  return [options](Context& context) { return diff(context, *options); };
}

}  // namespace fastgpu::cli
