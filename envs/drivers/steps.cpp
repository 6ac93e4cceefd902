#include "envs/drivers/steps.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fastgpu::envs {

Step make_step(std::string title, bool done, std::vector<Argv> commands, std::string note) {
  Step step{.title = std::move(title),
            .state = done ? StepState::done : StepState::to_do,
            .note = std::move(note)};
  if (!done) step.commands = std::move(commands);
  return step;
}

std::optional<Step> files_step(std::string title, const std::vector<NodeFile>& files,
                               const NodeFacts& facts, bool needed) {
  if (files.empty()) return std::nullopt;
  std::vector<Argv> commands;
  for (const NodeFile& file : files)
    if (!has_file(facts, file)) commands.push_back(write_file(file));
  const bool done = commands.empty();
  if (!done && !needed) return std::nullopt;
  return make_step(std::move(title), done, std::move(commands));
}

Plan framed(std::vector<Step> body, const NodeFacts& facts, const PackageManager& manager) {
  const bool acts =
      std::ranges::any_of(body, [](const Step& step) { return step.state == StepState::to_do; });
  const std::vector<NodeFile> hold = manager.hold_files();
  const bool is_held = std::ranges::any_of(
      hold, [&](const NodeFile& file) { return facts.files.contains(file.path); });
  std::vector<Step> steps;
  if (facts.packages_broken && !manager.repair().empty())
    steps.push_back(make_step("Finish the installation that was cut off", false, manager.repair()));
  // What only looks comes first: where that ends it, nothing has been held.
  const auto first = std::ranges::find_if(body, [](const Step& step) { return !step.reads_index; });
  std::move(body.begin(), first, std::back_inserter(steps));
  if (acts)
    if (auto holding = files_step("Hold unattended upgrades off", hold, facts, true))
      steps.push_back(std::move(*holding));
  std::move(first, body.end(), std::back_inserter(steps));
  if (!hold.empty() && (acts || is_held)) {
    std::vector<Argv> commands;
    for (const NodeFile& file : hold)
      commands.push_back({"rm", "-f", "--", file.path});
    steps.push_back(make_step("Let unattended upgrades go on", false, std::move(commands)));
  }
  return {std::move(steps)};
}

}  // namespace fastgpu::envs
