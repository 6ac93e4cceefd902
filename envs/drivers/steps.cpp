#include "envs/drivers/steps.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace fastgpu::envs {

DriverStep make_step(std::string title, bool done, std::vector<Argv> commands, std::string note) {
  DriverStep step{.title = std::move(title),
                  .state = done ? StepState::done : StepState::to_do,
                  .note = std::move(note)};
  if (!done) step.commands = std::move(commands);
  return step;
}

std::optional<DriverStep> files_step(std::string title, const std::vector<NodeFile>& files,
                                     const NodeFacts& facts, bool needed) {
  if (files.empty()) return std::nullopt;
  std::vector<Argv> commands;
  for (const NodeFile& file : files)
    if (!has_file(facts, file)) commands.push_back(write_file(file));
  const bool done = commands.empty();
  if (!done && !needed) return std::nullopt;
  return make_step(std::move(title), done, std::move(commands));
}

namespace {

constexpr const char* kHoldTitle = "Pause unattended upgrades";
constexpr const char* kReleaseTitle = "Resume unattended upgrades";

/// Returns the step that writes missing files, then the file that confirms them: a kill in between
/// is detected.
DriverStep holding_step(const NodeFacts& facts, const PackageManager& manager) {
  std::vector<Argv> commands;
  const std::vector<NodeFile> files = manager.hold_files();
  for (const NodeFile& file : files)
    if (!has_file(facts, file)) commands.push_back(write_file(file));
  if (commands.empty()) return make_step(kHoldTitle, true, {});
  const std::vector<Argv> reload = manager.reload_hold();
  const auto last = has_file(facts, files.back()) ? commands.end() : commands.end() - 1;
  commands.insert(last, reload.begin(), reload.end());
  return make_step(kHoldTitle, false, std::move(commands));
}

/// Returns the reverse step: the confirmation is gone from the first command on.
DriverStep releasing_step(const PackageManager& manager) {
  std::vector<Argv> commands;
  std::vector<NodeFile> files = manager.hold_files();
  for (auto file = files.rbegin(); file != files.rend(); ++file)
    commands.push_back({"rm", "-f", "--", file->path});
  std::ranges::copy(manager.reload_hold(), std::back_inserter(commands));
  return make_step(kReleaseTitle, false, std::move(commands));
}

}  // namespace

DriverPlan framed(std::vector<DriverStep> body, const NodeFacts& facts,
                  const PackageManager& manager) {
  const bool acts = std::ranges::any_of(
      body, [](const DriverStep& step) { return step.state == StepState::to_do; });
  const std::vector<NodeFile> hold = manager.hold_files();
  const bool is_held = std::ranges::any_of(
      hold, [&](const NodeFile& file) { return facts.files.contains(file.path); });
  std::vector<DriverStep> steps;
  if (facts.packages_broken && !manager.repair().empty())
    steps.push_back(make_step("Finish the interrupted installation", false, manager.repair()));
  // Read-only steps come first: if one of them fails, no installation is held.
  const auto first =
      std::ranges::find_if(body, [](const DriverStep& step) { return !step.reads_index; });
  std::move(body.begin(), first, std::back_inserter(steps));
  if (acts) steps.push_back(holding_step(facts, manager));
  std::move(first, body.end(), std::back_inserter(steps));
  if (acts || is_held) steps.push_back(releasing_step(manager));
  return {std::move(steps)};
}

}  // namespace fastgpu::envs
