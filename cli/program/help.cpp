#include "cli/program/help.hpp"

#include <algorithm>

#include "base/split.hpp"
#include "cli/ui/text.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kWidestLeft = 30;
/// A right column that would be narrower begins below the left one.
constexpr std::size_t kReadable = 24;
constexpr std::size_t kUsualWidth = 80;
constexpr std::size_t kNoLimit = 100'000;

std::size_t room_of(int width) {
  return width > 0 ? static_cast<std::size_t>(width) : kNoLimit;
}

std::string blanks(std::size_t count) {
  return std::string(count, ' ');
}

/// Returns `text` as lines that begin at column `indent`. The caller has put the cursor there for
/// the first one.
std::string hanging(std::string_view text, std::size_t indent, std::size_t room) {
  const std::size_t width = std::max(room, indent + kReadable) - indent;
  std::string out;
  for (std::string line : wrapped(text, width)) {
    while (line.size() > width && line.rfind('|', width - 1) != std::string::npos) {
      const std::size_t end = line.rfind('|', width - 1) + 1;  // The end of one choice in a list.
      out += (out.empty() ? "" : blanks(indent)) + line.substr(0, end) + "\n";
      line.erase(0, end);
    }
    out += (out.empty() ? "" : blanks(indent)) + line + "\n";
  }
  return out;
}

std::size_t widest_left(const HelpRows& rows) {
  std::size_t widest = 0;
  for (const auto& [left, right] : rows)
    if (left.size() <= kWidestLeft) widest = std::max(widest, left.size());
  return widest;
}

std::string two_columns(const HelpRows& rows, std::size_t left_width, int width) {
  const std::size_t room = room_of(width);
  std::size_t column = kIndent + left_width + 2;
  if (column + kReadable > room) column = 3 * kIndent;
  std::string out;
  for (const auto& [left, right] : rows) {
    std::string begin = blanks(kIndent) + left;
    if (begin.size() + 2 > column) {
      out += begin + "\n";
      begin = "";
    }
    out += begin + blanks(column - begin.size()) + hanging(right, column, room);
  }
  return out;
}

std::string two_columns(const HelpRows& rows, int width) {
  return two_columns(rows, widest_left(rows), width);
}

/// Returns the groups one below the other, with their right columns aligned.
std::string print_groups(const std::vector<HelpGroup>& groups, int width) {
  std::size_t left_width = 0;
  for (const HelpGroup& group : groups)
    left_width = std::max(left_width, widest_left(group.rows));
  std::string out;
  for (const HelpGroup& group : groups)
    out += "\n" + group.title + ":\n" + two_columns(group.rows, left_width, width);
  return out;
}

HelpRows& rows_of(std::vector<HelpGroup>& groups, const std::string& title) {
  const auto found = std::ranges::find(groups, title, &HelpGroup::title);
  return found == groups.end() ? groups.emplace_back(title, HelpRows()).rows : found->rows;
}

std::string_view title_of(Topic topic) {
  switch (topic) {
    case Topic::clusters:
      return "Clusters";
    case Topic::nodes:
      return "Nodes";
    case Topic::jobs:
      return "Jobs";
    case Topic::environments:
      return "Environments and drivers";
    case Topic::clouds:
      return "Clouds";
    case Topic::program:
      return "This program";
  }
  return "";
}

/// Returns the lines of `text`, with long lines broken at blanks.
std::string paragraphs(std::string_view text, int width) {
  const std::size_t room = width > 0 ? room_of(width) : kUsualWidth;
  std::string out;
  for (const std::string_view line : split_lines(text))
    out += hanging(line, 0, room);
  return out;
}

std::string with_choices(const Argument& argument) {
  std::string out = argument.help;
  for (std::size_t i = 0; i < argument.choices.size(); ++i)
    out += (i == 0 ? ": " : "|") + argument.choices[i];
  return out;
}

}  // namespace

std::vector<HelpGroup> command_groups(std::span<const CliCommand> table) {
  std::vector<HelpGroup> groups;
  using enum Topic;
  for (const Topic topic : {clusters, nodes, jobs, environments, clouds, program})
    for (const CliCommand& command : table)
      if (command.topic == topic && !command.summary.empty())
        rows_of(groups, std::string(title_of(topic)))
            .emplace_back(command.words(), std::string(command.summary));
  return groups;
}

HelpRows argument_rows(const Arguments& arguments) {
  HelpRows rows;
  for (const Argument& argument : arguments.all())
    if (argument.positional()) rows.emplace_back(argument.name, with_choices(argument));
  if (arguments.program()) rows.emplace_back("PROGRAM [ARGS...]", arguments.program()->help);
  return rows;
}

std::vector<HelpGroup> flag_groups(const Arguments& arguments) {
  std::vector<HelpGroup> groups;
  for (const bool has_group : {false, true})
    for (const Argument& argument : arguments.all()) {
      if (argument.positional() || has_group == argument.group.empty()) continue;
      std::string left = argument.letter.empty() ? "" : argument.letter + ", ";
      left += argument.name + (argument.value.empty() ? "" : " " + argument.value);
      rows_of(groups, has_group ? argument.group + " flags" : "Flags")
          .emplace_back(left, with_choices(argument));
    }
  return groups;
}

std::string usage_line(const CliCommand& command, const Arguments& arguments) {
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

std::string variables_sentence(const CliCommand& command, const Arguments& arguments) {
  std::string out = "Every flag can be set in the environment: --state-dir is FASTGPU_STATE_DIR";
  for (const Argument& argument : arguments.all()) {
    if (argument.positional() || argument.shared) continue;
    out += ", " + argument.name + " is " + argument.variable(command.words());
    break;
  }
  return out + ".";
}

std::string help_for_all(std::span<const CliCommand> table, int width) {
  return paragraphs("fastgpu makes clusters of machines and runs distributed jobs on them.\n",
                    width) +
         "\nUsage: fastgpu COMMAND [flags]\n" + print_groups(command_groups(table), width) +
         "\nTo begin: fastgpu create cluster demo --nodes 2\n" +
         paragraphs("Help for a command: fastgpu create cluster --help\n", width);
}

std::string help_for_verb(std::span<const CliCommand> table, std::string_view verb, int width) {
  HelpRows rows;
  for (const CliCommand& command : table)
    if (command.verb == verb) rows.emplace_back(command.words(), std::string(command.summary));
  return "Usage: fastgpu " + std::string(verb) + " NOUN [flags]\n\n" + two_columns(rows, width);
}

std::string help_for_command(const CliCommand& command, const Arguments& arguments, int width) {
  const std::string usage = "Usage: ";
  std::string out = paragraphs(command.summary, width) + "\n" + usage +
                    hanging(usage_line(command, arguments), usage.size(), room_of(width));
  const HelpRows positional = argument_rows(arguments);
  if (!positional.empty()) out += "\nArguments:\n" + two_columns(positional, width);
  const auto flags = flag_groups(arguments);
  out += print_groups(flags, width);
  if (!flags.empty()) out += "\n" + paragraphs(variables_sentence(command, arguments), width);
  if (!command.notes.empty()) out += "\n" + paragraphs(command.notes, width);
  if (!command.example.empty()) out += "\nExample:\n  " + std::string(command.example) + "\n";
  return out;
}

}  // namespace fastgpu::cli
