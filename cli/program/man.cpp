#include "cli/program/man.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "base/join.hpp"
#include "cli/program/help.hpp"

namespace fastgpu::cli {
namespace {

/// Returns `text` escaped for roff: no line begins a request, and hyphens can be copied.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool starts_line = out.empty() || out.back() == '\n';
    if (starts_line && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '~')
      out += "\\(ti";
    else if (c == '|')
      out += "|\\:";  // Allows a line break in a long list of choices.
    else
      out += c;
  }
  return out;
}

std::string heading(const std::string& name, std::string_view summary) {
  return ".TH " + ascii_upper(name) +
         " 1 \"\" \"fastgpu " FASTGPU_VERSION "\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\n" +
         roff(name) + " \\- " + roff(summary) + "\n";
}

std::string section(std::string_view title, std::string_view text) {
  return text.empty() ? "" : ".SH " + std::string(title) + "\n" + std::string(text) + "\n";
}

std::string tagged(const HelpRows& rows) {
  std::string out;
  for (const auto& [left, right] : rows)
    out += (out.empty() ? ".TP\n.B " : "\n.TP\n.B ") + roff(left) + "\n" + roff(right);
  return out;
}

/// Returns the exit codes for the main page; docs/reference/exit-codes.md has the details.
HelpRows exit_rows() {
  return {{"0", "Success"},
          {"1", "The command failed"},
          {"2", "Wrong usage: a flag, a name or a file"},
          {"3", "Denied: credentials, rights or host keys"},
          {"4", "No capacity: machines, disk space or open files"},
          {"5", "Not found: a named cluster, node, job, file or other object does not exist"},
          {"6", "Conflict: the object exists in another form, or another fastgpu works on it"},
          {"124", "Timeout"},
          {"130", "Interrupted"}};
}

HelpRows file_rows() {
  return {{"fastgpu.yaml", "Settings of a project, in the current directory"},
          {"~/.config/fastgpu/config.yaml", "Settings of the user"},
          {"~/.local/state/fastgpu", "Clusters, jobs and keys (--state-dir)"}};
}

HelpRows variable_rows() {
  return {{"FASTGPU_<FLAG>", "The value of a flag that means the same in every command"},
          {"FASTGPU_<COMMAND>_<FLAG>", "The value of any other flag; each page names one"},
          {"FASTGPU_CONFIG", "The file of the user's settings"},
          {"FASTGPU_IN_AUTOMATION", "true: a question is an error, even on a terminal"},
          {"NO_COLOR, CLICOLOR, CLICOLOR_FORCE", "Colours, as in other programs"}};
}

/// Returns the groups as subsections. The first one has no heading if its title is `untitled`.
std::string subsections(const std::vector<HelpGroup>& groups, std::string_view untitled) {
  std::string out;
  for (const HelpGroup& group : groups)
    append_item(
        out,
        (group.title == untitled ? "" : ".SS " + roff(group.title) + "\n") + tagged(group.rows),
        "\n");
  return out;
}

std::string as_typed(std::string_view line) {
  return ".nf\n" + roff(line) + "\n.fi";
}

}  // namespace

std::string man_name(const CliCommand& command) {
  std::string out = "fastgpu-" + command.words();
  std::ranges::replace(out, ' ', '-');
  return out;
}

std::string man_page_for_all(std::span<const CliCommand> table) {
  std::string see;
  for (const CliCommand& command : table)
    if (!command.summary.empty())
      append_item(see, ".BR " + roff(man_name(command)) + " (1)", ",\n");
  return heading("fastgpu", "make clusters of machines and run distributed jobs on them") +
         section("SYNOPSIS", ".B fastgpu\nCOMMAND [flags]") +
         section("COMMANDS", subsections(command_groups(table), "")) +
         section("EXIT STATUS",
                 tagged(exit_rows()) +
                     "\n.PP\nrun job, wait job and ssh return the code of the program, or 128 plus "
                     "the number of the signal that ended it; exec returns the highest of all "
                     "hosts.") +
         section("ENVIRONMENT", tagged(variable_rows())) + section("FILES", tagged(file_rows())) +
         section("SEE ALSO", see);
}

std::string man_page(const CliCommand& command, const Arguments& arguments) {
  const std::string environment = roff(variables_sentence(command, arguments));
  return heading(man_name(command), command.summary) +
         section("SYNOPSIS", ".B " + roff(usage_line(command, arguments))) +
         section("DESCRIPTION", roff(command.notes.empty() ? command.summary : command.notes)) +
         section("ARGUMENTS", tagged(argument_rows(arguments))) +
         section("OPTIONS", subsections(flag_groups(arguments), "Flags")) +
         section("ENVIRONMENT", environment) + section("EXAMPLES", as_typed(command.example)) +
         section("SEE ALSO", ".BR fastgpu (1)");
}

}  // namespace fastgpu::cli
