#include "cli/help.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace fastgpu::cli {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

std::string two_columns(const Rows& rows) {
  constexpr std::size_t kWidest = 30;
  std::size_t width = 0;
  for (const auto& [left, right] : rows)
    if (left.size() <= kWidest) width = std::max(width, left.size());
  std::string out;
  for (const auto& [left, right] : rows) {
    out += "  " + left;
    if (left.size() > width)
      out += "\n  " + std::string(width, ' ');
    else
      out += std::string(width - left.size(), ' ');
    out += "  " + right + "\n";
  }
  return out;
}

std::string usage_line(const Command& command, const Arguments& arguments) {
  std::string out = "fastgpu " + command.words();
  for (const Argument& argument : arguments.all()) {
    if (!argument.positional()) continue;
    const std::string word = argument.name + (argument.repeated ? "..." : "");
    out += argument.required ? " " + word : " [" + word + "]";
  }
  out += " [flags]";
  if (arguments.program())
    out += arguments.program()->required ? " -- PROGRAM [ARGS...]" : " [-- PROGRAM [ARGS...]]";
  return out;
}

Rows rows_of(const Arguments& arguments, bool positional) {
  Rows rows;
  for (const Argument& argument : arguments.all()) {
    if (argument.positional() != positional) continue;
    std::string left =
        argument.letter.empty() ? argument.name : argument.letter + ", " + argument.name;
    if (!positional && !argument.value.empty()) left += " " + argument.value;
    std::string right = argument.help;
    for (std::size_t i = 0; i < argument.choices.size(); ++i)
      right += (i == 0 ? ": " : "|") + argument.choices[i];
    rows.emplace_back(left, right);
  }
  if (positional && arguments.program())
    rows.emplace_back("PROGRAM [ARGS...]", arguments.program()->help);
  return rows;
}

}  // namespace

std::string help_for_all(std::span<const Command> table) {
  Rows rows;
  for (const Command& command : table)
    if (!command.summary.empty()) rows.emplace_back(command.words(), std::string(command.summary));
  return "fastgpu makes clusters of machines and runs distributed jobs on them.\n\n"
         "Usage: fastgpu COMMAND [flags]\n\nCommands:\n" +
         two_columns(rows) +
         "\nTo begin: fastgpu create cluster demo --nodes 2\n"
         "Each command has a page: fastgpu create cluster --help\n";
}

std::string help_for_verb(std::span<const Command> table, std::string_view verb) {
  Rows rows;
  for (const Command& command : table)
    if (command.verb == verb) rows.emplace_back(command.words(), std::string(command.summary));
  return "Usage: fastgpu " + std::string(verb) + " NOUN [flags]\n\n" + two_columns(rows);
}

std::string help_for_command(const Command& command, const Arguments& arguments) {
  std::string out =
      std::string(command.summary) + "\n\nUsage: " + usage_line(command, arguments) + "\n";
  const Rows positional = rows_of(arguments, true);
  if (!positional.empty()) out += "\nArguments:\n" + two_columns(positional);
  const Rows flags = rows_of(arguments, false);
  if (!flags.empty()) out += "\nFlags:\n" + two_columns(flags);
  if (!flags.empty())
    out += "\nEvery flag can come from the environment: --state-dir is FASTGPU_STATE_DIR.\n";
  if (!command.example.empty()) out += "\nExample:\n  " + std::string(command.example) + "\n";
  return out;
}

}  // namespace fastgpu::cli
