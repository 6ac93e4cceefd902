#include <memory>
#include <numeric>

#include "base/counted.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/node/copy_meter.hpp"
#include "cli/commands/node/remote_output.hpp"
#include "cli/commands/shared/dry_run.hpp"
#include "cli/commands/shared/not_copied.hpp"
#include "cli/program/checked_flag.hpp"
#include "cli/workflows/copy_route.hpp"
#include "cli/workflows/remote_target.hpp"
#include "remote/copy.hpp"
#include "transfer/node_path.hpp"
#include "transfer/paths.hpp"

namespace fastgpu::cli {
namespace {

constexpr int kMostCopies = 1'024;

/// The minimum size for copies from node to node: smaller files arrive before the nodes can reach
/// each other.
constexpr std::uint64_t kWorthPassingOn = 8 << 20;
/// The minimum size for keeping partial copies: a smaller file is quickly sent again.
constexpr std::uint64_t kWorthKeeping = 8 << 20;

/// The exit code if some files disappeared during the copy, and all others were copied.
constexpr int kSomeVanished = 1;

struct CpOptions {
  std::vector<std::string> paths;
  std::optional<int> fanout;
  std::optional<std::chrono::milliseconds> timeout;
  std::string rate;
  bool direct = false;
  bool dry_run = false;
  bool recursive = false;  ///< Has no effect: directories are always copied as a whole.
};

/// One side of a copy: a path on this machine, or "CLUSTER[/NODES]:PATH".
struct CopyPlace {
  std::string target;  ///< Empty for a path on this machine.
  std::string path;
};

/// Parses a place. A text without ':', or one that begins with '/' or '.', is a path on this
/// machine.
CopyPlace parse_place(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || colon == 0 || text.front() == '/' || text.front() == '.')
    return {"", text};
  const CopyPlace place{text.substr(0, colon), text.substr(colon + 1)};
  try {
    if (!place.path.empty()) transfer::parse_node_path(place.path);
  } catch (const Error& e) {
    throw e.during("cp");
  }
  return place;
}

struct Copy {
  std::string target;
  std::vector<std::string> sources;
  std::string destination;
  bool to_nodes = true;
};

Copy parse_copy(const std::vector<std::string>& paths) {
  if (paths.size() < 2)
    throw Error(ErrorKind::usage, "cp: give at least one source and a destination");
  const CopyPlace last = parse_place(paths.back());
  Copy copy{.target = last.target,
            .sources = {},
            .destination = last.path,
            .to_nodes = !last.target.empty()};
  for (std::size_t i = 0; i + 1 < paths.size(); ++i) {
    const CopyPlace source = parse_place(paths[i]);
    if (copy.to_nodes && !source.target.empty())
      throw Error(ErrorKind::usage,
                  "cp: '" + printable(paths[i]) + "' and '" + printable(paths.back()) +
                      "' are both on a cluster: one side must be on this machine");
    if (!copy.to_nodes && source.target.empty())
      throw Error(ErrorKind::usage,
                  "cp: neither side is on a cluster: write it like demo:" + printable(paths[i]));
    if (!copy.to_nodes && i > 0 && source.target != copy.target)
      throw Error(ErrorKind::usage, "cp: the sources are on '" + printable(copy.target) +
                                        "' and '" + printable(source.target) +
                                        "': copy from one at a time");
    if (!copy.to_nodes) copy.target = source.target;
    copy.sources.push_back(source.path);
  }
  try {
    transfer::require_distinct_names(copy.sources);
  } catch (const Error& e) {
    throw e.during("cp");
  }
  return copy;
}

/// The route of the data. In copies from node to node, only the first nodes report their progress.
enum class CopyRoute : std::uint8_t { each_from_here, node_to_node };

class ShownProgress final : public remote::CopyProgress {
 public:
  ShownProgress(Ui& ui, std::string step, std::size_t hosts, std::optional<Bytes> total)
      : ui_(ui), step_(std::move(step)), moved_(hosts), meter_(total) {
    ui_.waiting(step_);
  }

  void set_way(CopyRoute way) noexcept { way_ = way; }

  void moved(std::size_t host, std::uint64_t bytes) override {
    moved_[host] = bytes;
    ui_.progress(step_, meter_.figures(done(), CopyMeter::Clock::now()));
  }

 private:
  Bytes done() const {
    if (way_ == CopyRoute::node_to_node) return {*std::ranges::max_element(moved_)};
    const auto all = std::accumulate(moved_.begin(), moved_.end(), std::uint64_t{0});
    return {all / moved_.size()};
  }

  Ui& ui_;
  std::string step_;
  CopyRoute way_ = CopyRoute::each_from_here;
  std::vector<std::uint64_t> moved_;
  CopyMeter meter_;
};

/// Returns "copying data.bin to 3 nodes".
std::string step_of(const Copy& wanted, std::size_t nodes) {
  const std::size_t count = wanted.sources.size();
  const std::string& first = wanted.sources.front();
  const std::string name = std::filesystem::path(first).filename().string();
  const std::string what = count > 1      ? counted(count, "file") + " or directories"
                           : name.empty() ? first
                                          : name;
  return "copying " + what + (wanted.to_nodes ? " to " : " from ") + counted(nodes, "node");
}

/// Returns the route for copies from node to node; absent if sending to every node from here is
/// better.
std::optional<remote::NodeRoute> route_for(Context& context, const RemoteTarget& target,
                                           const CpOptions& options, std::uint64_t content) try {
  const bool is_worth_it = !options.direct && target.hosts.size() > 1 && content >= kWorthPassingOn;
  if (!is_worth_it || !has_own_key(context, target.cluster)) return std::nullopt;
  return make_route(context, target);
} catch (const Error& e) {
  if (e.kind() == ErrorKind::interrupted) throw;
  return std::nullopt;  // The copy itself will report the node's fault.
}

using CopyResults = std::vector<HostResult<remote::Copied>>;

remote::CopyOptions copy_options(Context& context, const CpOptions& options) {
  remote::CopyOptions settings;
  settings.width = options.fanout.value_or(context.settings().integer("fanout", 1, kMostCopies));
  settings.connect_timeout = context.settings().duration("connect-timeout");
  settings.silence = context.settings().duration("answer-timeout");
  settings.timeout = options.timeout.value_or(settings.timeout);
  if (!options.rate.empty()) settings.rate = parse_bit_rate(options.rate);
  return settings;
}

CopyResults copy(Context& context, const Copy& wanted, const RemoteTarget& target,
                 const CpOptions& options) {
  remote::CopyOptions settings = copy_options(context, options);
  const std::string step = step_of(wanted, target.hosts.size());
  if (!wanted.to_nodes) {
    ShownProgress progress(context.ui(), step, target.hosts.size(), std::nullopt);
    return remote::copy_from(context.ssh(), target.hosts, wanted.sources, wanted.destination,
                             context.agent(), settings, &progress, context.cancel());
  }
  const std::vector<std::filesystem::path> sources(wanted.sources.begin(), wanted.sources.end());
  const std::uint64_t content = remote::content_of(sources);
  ShownProgress progress(context.ui(), step, target.hosts.size(), Bytes{content});
  if (content >= kWorthKeeping) settings.key = remote::key_of(sources, wanted.destination);
  if (const auto route = route_for(context, target, options, content)) {
    progress.set_way(CopyRoute::node_to_node);
    return remote::copy_through(context.ssh(), target.hosts, *route, sources, wanted.destination,
                                context.agent(), settings, &progress, context.cancel());
  }
  return remote::copy_to(context.ssh(), target.hosts, sources, wanted.destination, context.agent(),
                         settings, &progress, context.cancel());
}

CopyResults try_copy(Context& context, const Copy& wanted, const RemoteTarget& target,
                     const CpOptions& options) {
  const remote::CopyOptions settings = copy_options(context, options);
  if (!wanted.to_nodes)
    return remote::try_copy_from(context.ssh(), target.hosts, wanted.sources, wanted.destination,
                                 context.agent(), settings, context.cancel());
  return remote::try_copy_to(context.ssh(), target.hosts,
                             {wanted.sources.begin(), wanted.sources.end()}, wanted.destination,
                             context.agent(), settings, context.cancel());
}

View view_of(const CopyResults& results) {
  View view;
  view.root = document("copy");
  view.root["hosts"] = Json::array();
  for (const auto& result : results) {
    Json item;
    item["name"] = result.host.value;
    item["bytes"] = result.ok() ? Json(result.value().bytes) : Json(nullptr);
    item["passed_on"] = result.ok() && result.value().passed_on;
    const transfer::NotSent entries = result.ok() ? result.value().not_sent : transfer::NotSent{};
    item["vanished"] = entries.vanished;
    item["special"] = entries.special;
    item["kept_here"] = entries.kept_here;
    item["error"] = nullptr;
    if (!result.ok()) {
      item["error"] = Json::object();
      item["error"]["kind"] = word_for(result.error().kind());
      item["error"]["message"] = result.error().what();
    }
    view.root["hosts"].push_back(std::move(item));
    view.names.push_back(result.host.value);
  }
  return view;
}

bool is_cut_off(const HostResult<remote::Copied>& result) {
  return !result.ok() && (result.error().kind() == ErrorKind::transient ||
                          result.error().kind() == ErrorKind::interrupted ||
                          result.error().kind() == ErrorKind::timeout);
}

/// Shows the error of each failed host. Returns the exit code.
int show_failures(Ui& ui, const CopyResults& results) {
  int code = 0;
  for (const auto& result : results) {
    if (result.ok()) continue;
    code = std::max(code, exit_code(result.error().kind()));
    ui.error_data(host_line(result.host, result.error().what()));
  }
  return code;
}

/// Returns a step for each source and node: "copy data.bin (63 MB) to /tmp/ on demo-0".
std::vector<std::string> steps_of(const Copy& wanted, const RemoteTarget& target) {
  std::vector<std::string> steps;
  for (const ssh::Host& host : target.hosts)
    for (const std::string& source : wanted.sources) {
      const std::string size =
          wanted.to_nodes ? " (" + to_string(Bytes{remote::content_of({source})}) + ")" : "";
      const std::string on_node = " on " + host.name.value;
      steps.push_back("copy " + source + size + (wanted.to_nodes ? "" : on_node) + " to " +
                      (wanted.destination.empty() ? "~" : wanted.destination) +
                      (wanted.to_nodes ? on_node : ""));
    }
  return steps;
}

int plan(Context& context, const Copy& wanted, const RemoteTarget& target,
         const CpOptions& options) {
  const CopyResults results = try_copy(context, wanted, target, options);
  if (const int code = show_failures(context.ui(), results); code != 0) return code;
  return show_dry_run(context.ui(), "cp", options.paths.back(), steps_of(wanted, target));
}

int run(Context& context, const CpOptions& options) {
  const Copy wanted = parse_copy(options.paths);
  if (wanted.to_nodes) remote::check_readable({wanted.sources.begin(), wanted.sources.end()});
  const RemoteTarget target = running_nodes(context, wanted.target);
  if (options.dry_run) return plan(context, wanted, target, options);
  context.set_stop_notice("stopping the copy");
  const CopyResults results = copy(context, wanted, target, options);
  context.ui().end_progress();
  if (!context.ui().for_people()) context.ui().show(view_of(results));
  int code = show_failures(context.ui(), results);
  std::uint64_t sum = 0;
  std::uint64_t most = 0;
  for (const auto& result : results) {
    if (!result.ok()) continue;
    sum += result.value().bytes;
    most = std::max(most, result.value().bytes);
  }
  if (const std::size_t vanished = warn_of_not_copied(context, results); vanished > 0)
    code = std::max(code, kSomeVanished);
  if (std::ranges::any_of(results, is_cut_off))
    context.ui().note(
        "the nodes keep the part that arrived for a day: repeat the command to continue");
  if (code == 0 && context.ui().for_people())
    context.ui().note("copied " + to_string(Bytes{wanted.to_nodes ? most : sum}) +
                      (!wanted.to_nodes      ? " from "
                       : results.size() == 1 ? " to "
                                             : " to each of ") +
                      counted(results.size(), "node"));
  return code;
}

}  // namespace

Action make_cp_command(Arguments& arguments) {
  auto options = std::make_shared<CpOptions>();
  Argument& paths =
      arguments.list("PATH", "", "Sources, then the destination; CLUSTER[/NODES]:PATH is on nodes",
                     options->paths);
  paths.required = true;
  paths.values = Values::remote_path;
  shared(arguments.count("--fanout", "N", "Maximum number of nodes at once (256)", options->fanout,
                         1, kMostCopies));
  arguments.duration("--timeout", "Give up after this long", options->timeout);
  checked(arguments.text("--limit-rate", "RATE", "Limit the total rate [300mbit]", options->rate),
          parse_bit_rate);
  arguments.flag("--recursive", "Copy directories recursively (always on)", options->recursive)
      .letter = "-r";
  describe_dry_run(arguments, options->dry_run);
  arguments.flag("--direct", "Send to every node from here instead of from node to node",
                 options->direct);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace fastgpu::cli
