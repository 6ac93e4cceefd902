#include "cli/program/app.hpp"

#include <algorithm>
#include <string_view>

#include "base/outcome.hpp"
#include "cli/program/command_search.hpp"
#include "cli/program/common_flags.hpp"
#include "cli/program/help.hpp"
#include "cli/program/launcher_words.hpp"
#include "cli/program/legacy_syntax.hpp"
#include "cli/program/parser.hpp"
#include "cli/program/tokens.hpp"
#include "cli/program/variables.hpp"
#include "config/document.hpp"

namespace fastgpu::cli {
namespace {

/// Runs `step`. Its error is only a warning if `runs_anyway` is true.
template <class Step>
void unless_it_runs_anyway(bool runs_anyway, Ui& ui, Step step) {
  try {
    step();
  } catch (const Error& e) {
    if (!runs_anyway) throw;
    ui.warn(e.what());
  }
}

/// Returns `given`, the command line's or the environment's value for an option of the output, or
/// the setting `key` if `given` is empty.
std::string chosen(Context& context, const std::string& given, std::string_view key) {
  return given.empty() ? context.settings().text(key) : given;
}

void apply_color(const CommonFlags& common, Context& context) {
  const std::string color = chosen(context, common.color, "color");
  if (color == "auto") return;
  const ColorChoice colors = color == "always" ? ColorChoice::always : ColorChoice::never;
  context.ui().set_terminal(look_at_terminal(colors, context.environment()));
}

void apply_format(const CommonFlags& common, const Arguments& arguments, Context& context) {
  const Format format = parse_format(chosen(context, common.output, "output"));
  if (format == Format::html && !arguments.offers_page())
    throw Error(ErrorKind::usage, "--output html: this command has no HTML output");
  if (format == Format::name && !arguments.offers_names())
    throw Error(ErrorKind::usage, "--output name: this command prints no names; use table or json");
  context.ui().set_format(format);
}

void apply(const CommonFlags& common, const Arguments& arguments, const CliCommand& command,
           Context& context) {
  Ui& ui = context.ui();
  if (common.quiet) ui.set_verbosity(Verbosity::quiet);
  ui.set_table_style(
      {.sort_by = common.sort_by, .titles = common.no_headers ? Titles::left_out : Titles::shown});
  if (common.verbose) context.clouds().show_calls();
  if (!common.state_directory.empty()) context.set_state_directory(common.state_directory);
  // Copies leave the state directory out, and must know it before they begin. A missing home
  // directory is reported by the commands that need it.
  static_cast<void>(attempt([&] { return context.state_directory(); }));
  unless_it_runs_anyway(command.runs_anyway, ui, [&] {
    apply_format(common, arguments, context);
    apply_color(common, context);
  });
}

void check_variables(Context& context, const CliCommand& command) {
  const auto faults = unknown_variables(context.variable_names(), commands(), command);
  // The agent that sets a job's variables may have another version than this program.
  const bool is_in_job = context.environment()("FASTGPU_JOB_ID").has_value();
  for (const std::string& fault : faults)
    unless_it_runs_anyway(command.runs_anyway || is_in_job, context.ui(),
                          [&] { throw Error(ErrorKind::usage, fault); });
}

int width_of(Context& context) {
  return context.ui().terminal().width;
}

/// Completes the output of a command that has run: adds a "done" document if stdout has none yet.
/// Returns `code`.
int finished(Context& context, const CliCommand& command, int code) {
  Json done = document("done");
  done["command"] = command.words();
  done["exit_code"] = code;
  context.ui().complete(std::move(done));
  return code;
}

int run_without_command(const Resolved& resolved, Context& context) {
  std::vector<std::string> words = resolved.rest;
  if (std::erase_if(words, [](const auto& w) { return w == "--version" || w == "-V"; }) > 0) {
    words.insert(words.begin(), "version");
    return run_app(words, context);
  }
  if (!resolved.verb.empty()) {
    context.ui().data(help_for_verb(commands(), resolved.verb, width_of(context)));
    return 0;
  }
  if (resolved.help) {
    context.ui().data(help_for_all(commands(), width_of(context)));
    return 0;
  }
  if (!resolved.rest.empty())
    throw Error(ErrorKind::usage, "no command given: fastgpu --help lists the commands");
  context.ui().error_data(help_for_all(commands(), context.ui().terminal().err_width));
  return exit_code(ErrorKind::usage);
}

/// Parses the words of run job. `typed` is the command as it was typed: "run job" or "mpirun".
void parse_job_words(const std::string& command, const std::string& typed,
                     const std::vector<std::string>& words, const Arguments& arguments,
                     const Environment& environment, const HearFault& hear) try {
  parse_words(command, translate_launcher_words(words, arguments), arguments, environment, hear);
} catch (const Error& e) {
  if (e.kind() != ErrorKind::usage) throw;
  throw Error(e.kind(), e.what() + program_advice(typed, words, arguments));
}

}  // namespace

int run_app(const std::vector<std::string>& words, Context& context) {
  const std::vector<std::string> ordered = verb_first(commands(), words);
  const Resolved resolved =
      resolve(commands(), translate_legacy_command(ordered, config::read_text));
  if (resolved.command == nullptr) return run_without_command(resolved, context);
  const CliCommand& command = *resolved.command;
  CommonFlags common;
  Arguments arguments;
  const Action action = command.describe(arguments);
  describe_common(arguments, common);
  if (resolved.help) {
    context.ui().data(help_for_command(command, arguments, width_of(context)));
    return 0;
  }
  const bool hidden = command.summary.empty();  // Completion must work with faulty files, too.
  HearFault hear;
  if (command.runs_anyway)
    hear = [&](const Error& e) {
      if (!hidden) context.ui().warn(e.what());
    };
  if (!hidden) check_variables(context, command);
  if (is_run_job(command)) {
    const std::string& verb = ordered.front();
    parse_job_words(command.words(), verb == command.verb ? command.words() : verb, resolved.rest,
                    arguments, context.environment(), hear);
  } else {
    parse_words(command.words(), resolved.rest, arguments, context.environment(), hear);
  }
  if (!hidden) apply(common, arguments, command, context);
  if (command.effect == Effect::changes) context.set_stop_notice("interrupting " + command.words());
  return finished(context, command, action(context));
}

std::optional<Format> wanted_document(std::span<const std::string> words,
                                      const state::Environment& environment) {
  CommonFlags common;
  Arguments arguments;
  try {
    const Resolved resolved = resolve(commands(), {words.begin(), words.end()});
    if (resolved.command != nullptr) resolved.command->describe(arguments);
  } catch (const Error&) {  // The fault is reported later, by the parse of the command.
  }
  describe_common(arguments, common);
  std::string request = environment("FASTGPU_OUTPUT").value_or("");
  const auto program = std::ranges::find(words, "--");
  for (const Token& token : tokens_of({words.begin(), program}, arguments))
    if (token.argument != nullptr && token.argument->name == "--output" && token.value)
      request = *token.value;
  if (request == "json") return Format::json;
  if (request == "yaml") return Format::yaml;
  return std::nullopt;
}

}  // namespace fastgpu::cli
