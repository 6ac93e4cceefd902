#include "cli/help.hpp"

#include <algorithm>

namespace fastgpu::cli {
namespace {

std::string two_columns(const HelpRows& rows) {
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

/// The lines of `text`, those over 80 columns broken at blanks.
std::string wrapped(std::string_view text) {
  constexpr std::size_t kWidth = 80;
  std::string out;
  while (!text.empty()) {
    std::size_t end = std::min(text.find('\n'), text.size());
    if (end > kWidth) end = std::min(text.rfind(' ', kWidth), end);
    out += std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string with_choices(const Argument& argument) {
  std::string out = argument.help;
  for (std::size_t i = 0; i < argument.choices.size(); ++i)
    out += (i == 0 ? ": " : "|") + argument.choices[i];
  return out;
}

}  // namespace

HelpRows command_rows(std::span<const Command> table) {
  HelpRows rows;
  for (const Command& command : table)
    if (!command.summary.empty()) rows.emplace_back(command.words(), std::string(command.summary));
  return rows;
}

HelpRows argument_rows(const Arguments& arguments) {
  HelpRows rows;
  for (const Argument& argument : arguments.all())
    if (argument.positional()) rows.emplace_back(argument.name, with_choices(argument));
  if (arguments.program()) rows.emplace_back("PROGRAM [ARGS...]", arguments.program()->help);
  return rows;
}

HelpRows flag_rows(const Arguments& arguments) {
  HelpRows rows;
  for (const Argument& argument : arguments.all()) {
    if (argument.positional()) continue;
    std::string left = argument.letter.empty() ? "" : argument.letter + ", ";
    left += argument.name + (argument.value.empty() ? "" : " " + argument.value);
    rows.emplace_back(left, with_choices(argument));
  }
  return rows;
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

std::string variables_sentence(const Command& command, const Arguments& arguments) {
  std::string out = "Every flag can come from the environment: --state-dir is FASTGPU_STATE_DIR";
  for (const Argument& argument : arguments.all()) {
    if (argument.positional() || argument.shared) continue;
    out += ", " + argument.name + " is " + argument.variable(command.words());
    break;
  }
  return out + ".";
}

std::string help_for_all(std::span<const Command> table) {
  return "fastgpu makes clusters of machines and runs distributed jobs on them.\n\n"
         "Usage: fastgpu COMMAND [flags]\n\nCommands:\n" +
         two_columns(command_rows(table)) +
         "\nTo begin: fastgpu create cluster demo --nodes 2\n"
         "Each command has a page: fastgpu create cluster --help\n";
}

std::string help_for_verb(std::span<const Command> table, std::string_view verb) {
  HelpRows rows;
  for (const Command& command : table)
    if (command.verb == verb) rows.emplace_back(command.words(), std::string(command.summary));
  return "Usage: fastgpu " + std::string(verb) + " NOUN [flags]\n\n" + two_columns(rows);
}

std::string help_for_command(const Command& command, const Arguments& arguments) {
  std::string out =
      std::string(command.summary) + "\n\nUsage: " + usage_line(command, arguments) + "\n";
  const HelpRows positional = argument_rows(arguments);
  if (!positional.empty()) out += "\nArguments:\n" + two_columns(positional);
  const HelpRows flags = flag_rows(arguments);
  if (!flags.empty()) out += "\nFlags:\n" + two_columns(flags);
  if (!flags.empty()) out += "\n" + wrapped(variables_sentence(command, arguments));
  if (!command.notes.empty()) out += "\n" + wrapped(command.notes);
  if (!command.example.empty()) out += "\nExample:\n  " + std::string(command.example) + "\n";
  return out;
}

}  // namespace fastgpu::cli
