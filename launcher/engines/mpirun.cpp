#include "launcher/engines/mpirun.hpp"

#include "agent/protocol/plan.hpp"
#include "agent/protocol/silence.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "launcher/library_settings.hpp"

namespace fastgpu::launcher {
namespace {

/// The number of nodes beyond which mpirun starts its daemons in waves of this width.
constexpr int kDaemonsAtOnce = 64;

/// The names of one setting in both versions, whose runtimes are different programs.
struct Setting {
  const char* v4;
  const char* v5;
};

constexpr Setting kStarter = {"plm", "plm"};
constexpr Setting kAgent = {"plm_rsh_agent", "plm_ssh_agent"};
constexpr Setting kAgentArguments = {"plm_rsh_args", "plm_ssh_args"};
constexpr Setting kNoTree = {"plm_rsh_no_tree_spawn", "plm_ssh_no_tree_spawn"};
constexpr Setting kConcurrent = {"plm_rsh_num_concurrent", "plm_ssh_num_concurrent"};
constexpr Setting kDaemonNetwork = {"oob_tcp_if_include", "prte_if_include"};
constexpr Setting kBeforeKill = {"odls_base_sigkill_timeout", "odls_base_sigkill_timeout"};
constexpr Setting kForward = {"ess_base_forward_signals", "ess_base_forward_signals"};
constexpr Setting kKeepaliveAfter = {"oob_tcp_keepalive_time", "oob_tcp_keepalive_time"};
constexpr Setting kKeepaliveEvery = {"oob_tcp_keepalive_intvl", "oob_tcp_keepalive_intvl"};
constexpr Setting kKeepaliveTries = {"oob_tcp_keepalive_probes", "oob_tcp_keepalive_probes"};
constexpr Setting kDaemon = {"orte_launch_agent", "prte_launch_agent"};
constexpr Setting kWholeNames = {"orte_keep_fqdn_hostnames", "prte_keep_fqdn_hostnames"};

class Arguments {
 public:
  explicit Arguments(const MpirunPlan& plan) : version_(plan.version), words_{plan.mpirun} {}

  void add(std::initializer_list<std::string> words) {
    words_.insert(words_.end(), words.begin(), words.end());
  }

  /// Adds a setting of the runtime that starts the processes.
  void runtime(const Setting& setting, const std::string& value) {
    const bool old = version_ == OpenMpi::v4;
    add({old ? "--mca" : "--prtemca", old ? setting.v4 : setting.v5, value});
  }

  bool has(const std::string& word) const { return contains(words_, word); }

  std::vector<std::string> take() { return std::move(words_); }

 private:
  OpenMpi version_;
  std::vector<std::string> words_;
};

/// Returns the part of Open MPI that starts daemons. A file of the user's may name another one,
/// such as that for Slurm. On one node Open MPI 4 does without ssh, which may be missing there.
std::string starter_of(const MpirunPlan& plan) {
  if (plan.version != OpenMpi::v4) return "ssh";
  return plan.ssh_config.empty() ? "rsh,isolated" : "rsh";
}

/// Lets Open MPI distinguish the nodes. It takes the part of a host name before the first dot for
/// the whole, and version 5 then counts the ranks of a.rack1 and a.rack2 as those of one node: its
/// collective operations hang. Those that depend on it are left out where whole names are equal.
void add_host_names(Arguments& arguments, const MpirunPlan& plan) {
  arguments.runtime(kWholeNames, "1");
  if (plan.version == OpenMpi::v4) return;
  arguments.add({"--pmixmca", "pmix_keep_fqdn_hostnames", "1"});
  if (plan.same_host_names) arguments.add({"--mca", "coll", "^han"});
}

void add_remote_start(Arguments& arguments, const MpirunPlan& plan) {
  arguments.runtime(kAgent, joined(plan.remote_shell, " "));
  arguments.runtime(kAgentArguments, "-x -F " + plan.ssh_config);
  // Only the first node has the key, so it alone starts daemons.
  arguments.runtime(kNoTree, "1");
  if (plan.nodes > kDaemonsAtOnce) arguments.runtime(kConcurrent, std::to_string(kDaemonsAtOnce));
  // The daemons carry the job's marker too, so that a sweep finds them.
  const std::string marker = std::string(agent::kJobMarker) + "=" + plan.job_id;
  arguments.runtime(kDaemon, "env " + marker + (plan.version == OpenMpi::v4 ? " orted" : " prted"));
  // Both sides notice soon that a node is cut off: its daemon then ends the ranks there. By default
  // they wait for eight minutes.
  constexpr agent::Probes kProbes = agent::kNodeProbes;
  arguments.runtime(kKeepaliveAfter, std::to_string(kProbes.after.count()));
  arguments.runtime(kKeepaliveEvery, std::to_string(kProbes.every.count()));
  arguments.runtime(kKeepaliveTries, std::to_string(kProbes.count));
  add_host_names(arguments, plan);
  if (!plan.network) return;
  arguments.runtime(kDaemonNetwork, *plan.network);
  arguments.add({"--mca", "btl_tcp_if_include", *plan.network});
}

/// Takes the place of the parameter files, because no argument takes a setting of theirs back. A
/// variable of the job and an argument win over a setting of a file.
void add_file_parameters(Arguments& arguments, const MpirunPlan& plan) {
  if (!plan.file_parameters || !plan.network) return;
  arguments.add({"--mca", "mca_base_param_files", "none"});
  for (const std::string& setting : *plan.file_parameters) {
    const auto equals = setting.find('=');
    const std::string name = setting.substr(0, equals);
    if (leaves_networks_out(setting) || arguments.has(name)) continue;
    if (contains(plan.forward, std::string(kMpiPrefix) + name)) continue;
    arguments.add({"--mca", name, setting.substr(equals + 1)});
  }
}

}  // namespace

bool leaves_networks_out(std::string_view setting) {
  return setting.substr(0, setting.find('=')).ends_with("tcp_if_exclude");
}

OpenMpi parse_open_mpi(const std::string& line) {
  const auto at = line.find("(Open MPI) ");
  const std::string version = at == std::string::npos ? "" : line.substr(at + 11);
  if (version.starts_with("4.")) return OpenMpi::v4;
  // Versions after 5 keep its runtime until they are known to differ.
  if (!version.empty() && version[0] >= '5' && version[0] <= '9') return OpenMpi::v5;
  throw Error(ErrorKind::remote,
              "its mpirun is '" + printable(line) + "', but Open MPI 4 or later is required");
}

std::vector<std::string> mpirun_argv(const MpirunPlan& plan) {
  Arguments arguments(plan);
  if (plan.root) arguments.add({"--allow-run-as-root"});
  arguments.add({"--hostfile", plan.hostfile, "-np", std::to_string(plan.ranks)});
  // The hostfile's slots are the placement. No binding: nodes may share cores without knowing it,
  // and programs with threads of their own are slower if they are bound to one core.
  arguments.add({"--map-by", "slot", "--bind-to", "none"});
  // Ranks give their programs time by themselves. mpirun would wait four times its second between
  // SIGTERM and SIGKILL, even if every rank has ended.
  arguments.runtime(kBeforeKill, "0");
  arguments.runtime(kForward, agent::kStopOrderName);
  arguments.runtime(kStarter, starter_of(plan));
  if (!plan.ssh_config.empty()) add_remote_start(arguments, plan);
  if (plan.crowded) arguments.add({"--mca", "mpi_yield_when_idle", "1"});
  add_file_parameters(arguments, plan);
  for (const std::string& name : plan.forward)
    arguments.add({"-x", name});
  for (const std::string& word : plan.program)
    arguments.add({word});
  return arguments.take();
}

}  // namespace fastgpu::launcher
