#include "cli/program/common_flags.hpp"

#include <map>
#include <optional>

#include "base/contains.hpp"
#include "base/names.hpp"
#include "base/quote.hpp"

namespace fastgpu::cli {
namespace {

/// Returns how to write the output to a file whose name was given as its format, "report.html";
/// empty if the name does not end like a format.
std::string file_advice(const std::string& text, const std::vector<std::string>& formats) {
  const auto dot = text.rfind('.');
  const std::string format = dot == text.npos ? "" : text.substr(dot + 1);
  if (format.empty() || !contains(formats, format)) return "";
  return "-o " + format + " > " + shell_quote(printable(text));
}

/// Lets -o take the name of a page, "report.html", as --out does: other programs name files by -o.
void take_page_name(Argument& output, const Argument& out_file) {
  output.other = [&out_file](const std::string& text) {
    if (!text.ends_with(".html")) return false;
    out_file.take(text);
    return true;
  };
}

}  // namespace

void describe_common(Arguments& arguments, CommonFlags& common) {
  if (arguments.offers_table()) {
    arguments.group("");
    shared(arguments.text("--sort-by", "COLUMN", "Sort the rows by this column", common.sort_by));
    shared(arguments.flag("--no-headers", "Omit the column headers", common.no_headers));
  }
  arguments.group("Global");
  Argument& output = shared(arguments.text("--output", "FORMAT", "Output format", common.output));
  output.letter = "-o";
  output.values = Values::choice;
  output.choices = {"table", "wide", "json", "yaml"};
  if (arguments.offers_names()) output.choices.emplace_back("name");
  if (arguments.offers_page()) output.choices.emplace_back("html");
  output.advice = [formats = output.choices](const std::string& text) {
    return file_advice(text, formats);
  };
  const Argument* const out_file = arguments.find("--out");
  if (out_file != nullptr && arguments.offers_page()) take_page_name(output, *out_file);
  Argument& color =
      shared(arguments.text("--color", "WHEN", "Colours on stdout and stderr", common.color));
  color.values = Values::choice;
  color.choices = {"auto", "always", "never"};
  Argument& state = shared(arguments.text(
      "--state-dir", "DIR", "Directory for clusters, jobs and keys (~/.local/state/fastgpu)",
      common.state_directory));
  state.values = Values::path;
  shared(arguments.flag("--quiet", "Print only results, warnings and errors", common.quiet))
      .letter = "-q";
  shared(arguments.flag("--verbose", "Print every request to a cloud", common.verbose)).letter =
      "-v";
}

Arguments arguments_of(const CliCommand& command) {
  CommonFlags common;
  Arguments arguments;
  command.describe(arguments);
  describe_common(arguments, common);
  return arguments;
}

Arguments leading_flags(std::span<const CliCommand> table) {
  std::map<std::string, std::optional<bool>> is_bare;  // Absent if it depends on the command.
  const auto note = [&](const std::string& spelling, bool bare) {
    const auto [found, is_new] = is_bare.emplace(spelling, bare);
    if (!is_new && found->second != bare) found->second.reset();
  };
  for (const CliCommand& command : table) {
    const Arguments arguments = arguments_of(command);
    for (const Argument& argument : arguments.all()) {
      if (argument.positional()) continue;
      note(argument.name, argument.bare());
      if (!argument.letter.empty()) note(argument.letter, argument.bare());
    }
  }
  Arguments flags;
  for (const auto& [spelling, bare] : is_bare)
    if (bare) flags.add({.name = spelling, .value = *bare ? "" : "VALUE"});
  return flags;
}

}  // namespace fastgpu::cli
