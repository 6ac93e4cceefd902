// tmux: opens a shell on a node that survives the end of the connection.
#include <algorithm>
#include <memory>
#include <optional>

#include "base/quote.hpp"
#include "base/time_text.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/node/session.hpp"
#include "cli/commands/shared/target_argument.hpp"
#include "cli/commands/show/views.hpp"
#include "cli/workflows/node_scripts/tmux.hpp"
#include "cli/workflows/remote_target.hpp"

namespace fastgpu::cli {
namespace {

/// The timeout for a listing, because a tmux server may hang.
constexpr std::chrono::seconds kLongestListing{30};

/// The maximum size of a listing in bytes. The rest is dropped.
constexpr std::size_t kMostListing = 1 << 20;

struct TmuxOptions {
  std::string target;
  std::string session = "fastgpu";
  bool detached = false;
  bool list = false;
  std::vector<std::string> program;
};

Error no_tmux(const RemoteTarget& found) {
  const std::string& cluster = found.cluster.name.value;
  const ssh::Host& host = found.hosts.front();
  const std::string rights = host.user == "root" ? "" : "sudo ";
  return {ErrorKind::not_found,
          host.name.value + " has no tmux: on Debian and Ubuntu `fastgpu exec " + cluster + " -- " +
              rights + "apt-get install -y tmux` installs it on all nodes; `fastgpu ssh " +
              cluster + "/" + host.name.value + "` opens a shell without it"};
}

Error exists_already(const RemoteTarget& found, const std::string& session) {
  const std::string& node = found.hosts.front().name.value;
  return {ErrorKind::conflict, node + " already has a session " + session + ": `fastgpu tmux " +
                                   found.cluster.name.value + "/" + node + " --session " +
                                   shell_quote(session) +
                                   "` opens it, and another name creates another session"};
}

/// Starts a detached session, without standard input.
ssh::Exit start_detached(Context& context, const ssh::Host& host, const std::string& command) {
  ssh::RunOptions options;
  options.connect_timeout = context.settings().duration("connect-timeout");
  const auto tell = [&context](std::string_view text) { context.ui().error_data(text); };
  return context.ssh()
      .run({{.host = host, .command = command, .on_stderr = tell}}, options, context.cancel())
      .front()
      .value();
}

/// Returns the exit code after the session has ended or was detached. Throws for the script's own
/// exit codes.
int code_of(const ssh::Exit& exit, const RemoteTarget& found, const std::string& session) {
  if (exit.code() == tmux_missing) throw no_tmux(found);
  if (exit.code() == tmux_session_exists) throw exists_already(found, session);
  return exit.code();
}

int enter(Context& context, const TmuxOptions& options) {
  const RemoteTarget found = one_node(context, options.target, "tmux");
  const ssh::Host& host = found.hosts.front();
  const auto start = options.detached ? TmuxStart::detached : TmuxStart::attached;
  const std::string command = tmux_command(options.session, options.program, start);
  if (!options.detached)
    return code_of(run_session(context, host, command), found, options.session);
  const int code = code_of(start_detached(context, host, command), found, options.session);
  if (code == 0)
    context.ui().next_steps({"fastgpu tmux " + found.cluster.name.value + "/" + host.name.value +
                             " --session " + shell_quote(options.session)});
  return code;
}

/// Collects the listing and the errors of each host.
struct RegionAnswers final : remote::OutputSink {
  explicit RegionAnswers(std::size_t hosts) : texts(hosts), errors(hosts) {}
  void output(std::size_t host, remote::OutputChannel channel, std::string_view text) override {
    std::string& kept = (channel == remote::OutputChannel::out ? texts : errors)[host];
    kept += text.substr(0, kMostListing - std::min(kept.size(), kMostListing));
  }
  std::vector<std::string> texts;
  std::vector<std::string> errors;
};

/// Returns why the sessions of a host are unknown; "" if they are known.
std::string failure_on(const HostResult<remote::Executed>& result, std::string_view said) {
  if (!result.ok()) return result.error().what();
  return listing_failure(result.value().exit.code(), said);
}

void add_rows(View& view, const NodeName& node, std::string_view text) {
  for (const TmuxSession& session : parse_sessions(text)) {
    const auto created = std::chrono::system_clock::from_time_t(session.created);
    view.table.rows.push_back({node.value, session.name, utc_text(created),
                               std::to_string(session.windows), std::to_string(session.clients)});
    view.root["sessions"].push_back({{"node", node.value},
                                     {"name", session.name},
                                     {"created", time_json(session.created)},
                                     {"windows", session.windows},
                                     {"attached", session.clients}});
    view.names.push_back(node.value + "/" + session.name);
  }
}

int list(Context& context, const TmuxOptions& options) {
  const RemoteTarget found = running_nodes(context, options.target, Access::inspect);
  remote::ExecOptions settings;
  settings.connect_timeout = context.settings().duration("connect-timeout");
  settings.timeout = kLongestListing;
  RegionAnswers heard(found.hosts.size());
  const auto results = remote::exec_everywhere(context.ssh(), found.hosts, list_sessions_argv(),
                                               context.agent(), settings, heard, context.cancel());
  View view;
  view.root = document("tmux");
  view.root["cluster"] = found.cluster.name.value;
  view.root["sessions"] = Json::array();
  view.table.columns = {{"NODE"},
                        {"SESSION"},
                        {"CREATED", false, Fit::optional},
                        {"WINDOWS", false, Fit::optional},
                        {"ATTACHED"}};
  view.when_empty = "no sessions";
  int failures = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    add_rows(view, results[i].host, heard.texts[i]);
    const std::string failure = failure_on(results[i], heard.errors[i]);
    if (failure.empty()) continue;
    context.ui().warn(host_line(results[i].host, failure));
    ++failures;
  }
  if (failures > 0) view.when_empty.clear();  // The failed hosts may have sessions.
  context.ui().show(view);
  return failures == 0 ? 0 : 1;
}

int run(Context& context, const TmuxOptions& options) {
  check_session_name(options.session);
  if (options.list && (options.detached || !options.program.empty()))
    throw Error(ErrorKind::usage, "tmux: --list starts no session: omit --detach and the program");
  if (options.list) return list(context, options);
  if (!options.detached && !has_terminal())
    throw Error(ErrorKind::usage,
                "tmux: there is no terminal here: use --detach to start a session, or `fastgpu "
                "ssh` to run a program");
  return enter(context, options);
}

}  // namespace

Action make_tmux_command(Arguments& arguments) {
  auto options = std::make_shared<TmuxOptions>();
  describe_one_node(arguments, options->target);
  arguments
      .text("--session", "NAME", "Name of the session, created if it is missing (fastgpu)",
            options->session)
      .letter = "-s";
  arguments.flag("--detach", "Start the session without attaching to it", options->detached)
      .letter = "-d";
  arguments.flag("--list", "List the sessions on all nodes, or on these nodes", options->list)
      .letter = "-l";
  arguments.program(
      {"The program to run in a new session instead of a shell", false, &options->program});
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
