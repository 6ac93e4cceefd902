#include "remote/exec.hpp"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "base/literals.hpp"
#include "base/names.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/node/file_sink.hpp"
#include "cli/commands/node/holding_sink.hpp"
#include "cli/commands/node/remote_output.hpp"
#include "cli/commands/shared/program_variables.hpp"
#include "cli/commands/shared/standard_input.hpp"
#include "cli/commands/shared/target_argument.hpp"
#include "cli/workflows/lookup.hpp"
#include "cli/workflows/remote_target.hpp"
#include "remote/lines.hpp"

namespace fastgpu::cli {
namespace {

constexpr int kMostFanout = 1'024;

struct ExecCommandOptions {
  std::string target;
  std::string left_out;
  bool fold = false;
  std::string out_directory;
  std::optional<int> fanout;
  std::optional<std::chrono::milliseconds> timeout;
  VariableFlags variables;
  std::vector<std::string> program;
};

using ExecResults = std::vector<HostResult<remote::Executed>>;

int code_of(const HostResult<remote::Executed>& result) {
  return result.ok() ? result.value().exit.code() : exit_code(result.error().kind());
}

int highest_code(const ExecResults& results) {
  int highest = 0;
  for (const auto& result : results)
    highest = std::max(highest, code_of(result));
  return highest;
}

/// A host's output, which is either in memory or in files.
struct Written {
  HeldOutput held{};
  const FileSink* files = nullptr;
  std::size_t host = 0;
};

void add_output(Json& out, const Written& written) {
  using remote::OutputChannel;
  if (written.files == nullptr) {
    out["stdout"] = written.held.out;
    out["stderr"] = written.held.err;
    out["truncated"] = written.held.truncated;
    return;
  }
  const auto path = [&](OutputChannel channel) {
    return Json(written.files->file(written.host, channel).string());
  };
  out["stdout_file"] = path(OutputChannel::out);
  out["stderr_file"] =
      written.files->has_errors(written.host) ? path(OutputChannel::err) : Json(nullptr);
}

Json json_of(const HostResult<remote::Executed>& result, const Written& written) {
  Json out;
  out["name"] = result.host.value;
  out["exit_code"] = code_of(result);
  out["signal"] = result.ok() && !result.value().exit.signal.empty()
                      ? Json(result.value().exit.signal)
                      : Json(nullptr);
  out["error"] = nullptr;
  if (!result.ok()) {
    out["error"] = Json::object();
    out["error"]["kind"] = word_for(result.error().kind());
    out["error"]["message"] = result.error().what();
  }
  add_output(out, written);
  return out;
}

View view_of(const ExecCommandOptions& options, const ExecResults& results,
             const std::vector<HeldOutput>& held, const FileSink* files) {
  View view;
  view.root = document("exec");
  view.root["target"] = options.target;
  view.root["command"] = options.program;
  view.root["exit_code"] = highest_code(results);
  view.root["hosts"] = Json::array();
  for (std::size_t i = 0; i < results.size(); ++i) {
    view.root["hosts"].push_back(json_of(results[i], {held[i], files, i}));
    view.names.push_back(results[i].host.value);
  }
  return view;
}

std::string mebibytes(std::size_t bytes) {
  return std::to_string(bytes >> 20U) + " MiB";
}

/// Warns of the hosts whose output was truncated, and shows how to get all of it.
void report_cut(Ui& ui, const ExecResults& results, const std::vector<HeldOutput>& held) {
  std::vector<std::string> cut;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (held[i].truncated) cut.push_back(results[i].host.value);
  if (cut.empty()) return;
  constexpr HoldingLimits kLimits;
  ui.warn(fold_names(cut) + ": output truncated: with -b or -o at most " +
          mebibytes(kLimits.stream) + " per stream and " + mebibytes(kLimits.all) +
          " in total are kept; omit them to see all output");
}

std::vector<std::string> names_of(const remote::OutputGroup& group) {
  std::vector<std::string> names;
  for (const NodeName& name : group.hosts)
    names.push_back(name.value);
  return names;
}

/// Shows equal outputs once, under the names of their hosts.
void show_groups(Ui& ui, const std::vector<remote::HostText>& outputs, std::string_view remark) {
  for (const remote::OutputGroup& group : remote::fold(outputs)) {
    const std::vector<std::string> names = names_of(group);
    const std::string rule(16, '-');
    ui.data(rule + "\n" + fold_names(names) + " (" + std::to_string(names.size()) + ")" +
            std::string(remark) + "\n" + rule + "\n");
    ui.program_output(group.text);
    if (!group.text.empty() && group.text.back() != '\n') ui.program_output("\n");
  }
}

void show_folded(Ui& ui, const ExecResults& results, const std::vector<HeldOutput>& held) {
  std::vector<remote::HostText> whole;
  std::vector<remote::HostText> cut;
  std::vector<remote::HostText> errors;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const NodeName& host = results[i].host;
    if (!held[i].err.empty()) errors.push_back({host, held[i].err});
    if (held[i].truncated)
      cut.push_back({host, held[i].out});
    else if (results[i].ok() || !held[i].out.empty())
      whole.push_back({host, held[i].out});
  }
  for (const remote::OutputGroup& group : remote::fold(errors))
    ui.program_errors(with_prefix(fold_names(names_of(group)) + ": ", group.text));
  show_groups(ui, whole, "");
  show_groups(ui, cut, ", cut");
}

enum class HostNames : std::uint8_t { each, folded };

/// Returns how a host's program ended: "exited with 1"; "" after a success.
std::string ending_of(const HostResult<remote::Executed>& result) {
  if (!result.ok()) return "";
  const ssh::Exit& exit = result.value().exit;
  if (!exit.signal.empty()) return "killed by SIG" + exit.signal;
  return exit.status == 0 ? "" : "exited with " + std::to_string(exit.status);
}

/// Texts, each with the hosts that have it, in the order of their first hosts.
using Alike = std::vector<std::pair<std::string, std::vector<std::string>>>;

void add(Alike& all, const std::string& text, const std::string& host, HostNames names) {
  if (text.empty()) return;
  const auto found = std::ranges::find(all, text, &Alike::value_type::first);
  if (found != all.end() && names == HostNames::folded)
    found->second.push_back(host);
  else
    all.push_back({text, {host}});
}

/// Reports failures. Equal ones of several hosts share a line if `names` is HostNames::folded.
void report(Ui& ui, const ExecResults& results, HostNames names) {
  Alike endings, unsupervised;
  for (const auto& result : results) {
    const std::string& host = result.host.value;
    if (!result.ok()) ui.error_data(host_line(result.host, result.error().what()));
    add(endings, ending_of(result), host, names);
    if (result.ok()) add(unsupervised, result.value().unsupervised, host, names);
  }
  for (const auto& [text, hosts] : endings)
    ui.note(fold_names(hosts) + ": " + text);
  for (const auto& [text, hosts] : unsupervised)
    ui.warn(fold_names(hosts) + ": ran without a supervisor: " + text);
}

remote::ExecOptions settings_of(Context& context, const ExecCommandOptions& options) {
  remote::ExecOptions settings;
  settings.width = options.fanout.value_or(context.settings().integer("fanout", 1, kMostFanout));
  settings.connect_timeout = context.settings().duration("connect-timeout");
  if (options.timeout && options.timeout->count() == 0)
    throw Error(ErrorKind::usage,
                "exec: the timeout is 0: give a longer one, or omit it for no timeout");
  settings.timeout = options.timeout.value_or(settings.timeout);
  settings.environment = variables_of(options.variables, context.environment());
  settings.delivery = remote::Delivery::pieces;
  return settings;
}

/// Returns our standard input for all hosts; null if it is not passed on. Throws usage unless all
/// hosts can run at the same time, because all of them read it at the same time.
std::unique_ptr<remote::SharedInput> input_for(std::size_t hosts, int width) {
  if (!is_passed_on(STDIN_FILENO)) return nullptr;
  if (hosts > static_cast<std::size_t>(width))
    throw Error(ErrorKind::usage,
                "standard input goes to all nodes at the same time, and --fanout " +
                    std::to_string(width) + " allows fewer than the " + std::to_string(hosts) +
                    " selected: raise it, or close the input with </dev/null");
  return std::make_unique<remote::SharedInput>(STDIN_FILENO, hosts);
}

int run(Context& context, const ExecCommandOptions& options) {
  if (options.fold && !options.out_directory.empty())
    throw Error(ErrorKind::usage, "exec: --fold and --outdir exclude each other: use one of them");
  remote::ExecOptions settings = settings_of(context, options);
  const RemoteTarget target = running_nodes(context, without(options.target, options.left_out));
  std::vector<std::string> names;
  for (const ssh::Host& host : target.hosts)
    names.push_back(host.name.value);
  std::optional<HoldingSink> holding(
      std::in_place, names.size(), context.ui().for_people() ? Repeats::shared : Repeats::counted);
  StreamingSink streaming(context, names);
  std::optional<FileSink> files;
  if (!options.out_directory.empty()) files.emplace(options.out_directory, names);
  remote::OutputSink* kept = &streaming;
  if (options.fold || !context.ui().for_people()) kept = &*holding;
  if (files) kept = &*files;
  CountedSink sink(context.ui(), *kept, names);
  const auto input = input_for(names.size(), settings.width);
  settings.input = input.get();
  context.set_stop_notice("stopping the program on " + counted(names.size(), "node"));
  const ExecResults results =
      remote::exec_everywhere(context.ssh(), target.hosts, options.program, context.agent(),
                              settings, sink, context.cancel());
  context.ui().end_progress();
  if (streaming.closed()) return kBrokenPipe;
  report_cut(context.ui(), results, holding->held());
  if (!context.ui().for_people()) {
    const View view = view_of(options, results, holding->held(), files ? &*files : nullptr);
    holding.reset();  // Frees the output, which may be large and is in the document now.
    context.ui().show(view);
  } else {
    if (options.fold) show_folded(context.ui(), results, holding->held());
    report(context.ui(), results, options.fold ? HostNames::folded : HostNames::each);
  }
  return streaming.exit_code_after(highest_code(results));
}

}  // namespace

Action make_exec_command(Arguments& arguments) {
  auto options = std::make_shared<ExecCommandOptions>();
  describe_target(arguments, options->target,
                  "All nodes, or some: demo/0,2 or demo/demo-[0-3] or demo/@workers");
  Argument& exclude = arguments.text("--exclude", "NODES", "Exclude these nodes [3, demo-[0-1]]",
                                     options->left_out);
  exclude.letter = "-x";
  exclude.values = Values::node;
  arguments.flag("--fold", "Show equal outputs once", options->fold).letter = "-b";
  arguments
      .text("--outdir", "DIR",
            "Write each node's output into DIR/NODE and its errors into DIR/NODE.err",
            options->out_directory)
      .values = Values::path;
  shared(arguments.count("--fanout", "N", "Maximum number of nodes at once (256)", options->fanout,
                         1, kMostFanout));
  arguments.duration("--timeout", "Stop the program after this long", options->timeout);
  describe_variables(arguments, options->variables, "the program");
  arguments.program(
      {"The program and its arguments, passed on unchanged", true, &options->program});
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
