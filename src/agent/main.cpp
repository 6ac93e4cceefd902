// fastgpu-agent: installed on nodes over SSH. Each call runs one subcommand and ends.
#include <signal.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agent/files/disk.hpp"
#include "agent/files/receive.hpp"
#include "agent/files/send.hpp"
#include "agent/guard/node_activity.hpp"
#include "agent/protocol/exit_codes.hpp"
#include "agent/pulse.hpp"
#include "agent/subcommands.hpp"
#include "base/caught.hpp"
#include "base/contains.hpp"
#include "base/error.hpp"
#include "transfer/transfer_libraries.hpp"

namespace fastgpu::agent {
namespace {

int run_version(Arguments) {
  std::puts(FASTGPU_VERSION);
  return 0;
}

/// Prints one line per library: "zstd 1.5.4". The libraries are part of this program, so that only
/// another version of it has other ones.
int run_libraries(Arguments) {
  for (const auto& [name, version] : transfer::library_versions())
    std::printf("%s %s\n", name.c_str(), version.c_str());
  return 0;
}

struct Subcommand {
  const char* name;
  const char* usage;
  int (*run)(Arguments);
};

constexpr std::array kSubcommands = {
    Subcommand{"version", "", run_version},
    Subcommand{"libraries", "", run_libraries},
    Subcommand{"exec", "[--variables] [--input] -- COMMAND < FRAMES", run_exec},
    Subcommand{"facts",
               "[--mpirun [--mpirun-in DIR]] [--workdir DIR [--program PROGRAM]] [--in-path NAME] "
               "[--root DIR]",
               run_facts},
    Subcommand{"topology", "", run_topology},
    Subcommand{"reach-nodes", "[--ssh HOST:PORT]... [-- ADDRESS[,MTU]...]", run_reach_nodes},
    Subcommand{"probe-links", "< ORDER", run_probe_links},
    Subcommand{"put-files",
               "DIR [--facts] [--new-job JOB_DIR [--own-disk]] [--tidy COUNT:SECONDS] [--start "
               "JOB_DIR [--reach "
               "WORD...]] < FILES",
               run_put_files},
    Subcommand{"receive",
               "[--several] [--resume KEY:FILES:BYTES] -- DESTINATION < STREAM | --position KEY -- "
               "DESTINATION",
               run_receive},
    Subcommand{"send", "-- SOURCE... > STREAM", run_send},
    Subcommand{"relay",
               "[--from SOURCE] --to DESTINATION --config SSH_CONFIG [--several] [--report ID] -- "
               "[HOST]...",
               run_relay},
    Subcommand{"relay-report", "ID", run_relay_report},
    Subcommand{"job-start", "DIR", run_job_start},
    Subcommand{"launch",
               "DIR NODE_COMMAND [--ssh-config SSH_CONFIG] [--limit MILLISECONDS] [--pass NAME]...",
               run_launch},
    Subcommand{"node-ranks", "DIR < ORDERS", run_node_ranks},
    Subcommand{"slurm-start", "DIR [--own-home < BATCH_SCRIPT]", run_slurm_start},
    Subcommand{"rank",
               "DIR [--place RANK:LOCAL_RANK:WORLD_SIZE] [--own-home COUNT:SECONDS] [-- COMMAND]",
               run_rank},
    Subcommand{"rsh", "[-x] [-F SSH_CONFIG] HOST COMMAND...", run_rsh},
    Subcommand{"start-daemon", "[--limit MILLISECONDS] [-x] [-F SSH_CONFIG] HOST COMMAND...",
               run_start_daemon},
    Subcommand{"await-daemon", "", run_await_daemon},
    Subcommand{"job-follow",
               "DIR [--from NAME=OFFSET]... [--from-input] [--ranks 0,1] [--tail N | --tail-of-log "
               "N] [--no-follow] "
               "[--no-data] [--since MILLISECONDS] [--times] [--renew-lease] [--begun]",
               run_job_follow},
    Subcommand{"job-input", "DIR < FRAMES", run_job_input},
    Subcommand{"job-stop", "DIR [--kill-after SECONDS]", run_job_stop},
    Subcommand{"job-sweep", "ID", run_job_sweep},
    Subcommand{"job-remove", "DIR", run_job_remove},
    Subcommand{"job-folders", "OWNER", run_job_folders},
    Subcommand{"job-discard", "OWNER NAME:ENDED...", run_job_discard},
    Subcommand{"job-show", "ID", run_job_show},
    Subcommand{"job-stacks", "DIR", run_job_stacks},
    Subcommand{"job-usage", "DIR", run_job_usage},
    Subcommand{"job-traces", "DIR BYTES RANK...", run_job_traces},
    Subcommand{"guard-set", "< ORDER", run_guard_set},
    Subcommand{"guard-run", "", run_guard_run},
    Subcommand{"guard-show", "", run_guard_show},
    Subcommand{"access-check", "", run_access_check},
    Subcommand{"access-add", "LINE", run_access_add},
    Subcommand{"access-identify", "", run_access_identify},
    Subcommand{"access-remove", "MARK [CLUSTER]", run_access_remove},
    Subcommand{"lease-take", "[--take-over] [--break] HOLDER SECONDS WHO", run_lease_take},
    Subcommand{"lease-drop", "HOLDER", run_lease_drop},
    Subcommand{"lease-own", "OWNER TAKEN", run_lease_own},
    Subcommand{"env-status", "[--prepare NAME] [--cluster ID] [PREFIX]", run_env_status},
    Subcommand{"env-python", "[--or-newer] VERSION", run_env_python},
    Subcommand{"env-reach", "HOST:PORT...", run_env_reach},
    Subcommand{"env-tunnel", "< STREAMS > STREAMS", run_env_tunnel},
    Subcommand{"env-solve", "< REQUEST", run_env_solve},
    Subcommand{"env-build", "< REQUEST", run_env_build},
    Subcommand{"env-verify", "PREFIX NAME [VERSION]", run_env_verify},
    Subcommand{"env-show", "PREFIX NAME [VERSION [BASE]]", run_env_show},
    Subcommand{"env-pack", "FOLDER NAME > ARCHIVE", run_env_pack},
    Subcommand{"env-use", "PREFIX NAME VERSION", run_env_use},
    Subcommand{"env-discard", "[--unused] PREFIX NAME VERSION", run_env_discard},
    Subcommand{"env-activate", "PREFIX NAME", run_env_activate},
    Subcommand{"env-deactivate", "PREFIX", run_env_deactivate},
    Subcommand{"env-remove", "[--if-empty] PREFIX [NAME]", run_env_remove},
};

int show_usage() {
  for (const Subcommand& subcommand : kSubcommands)
    std::fprintf(stderr, "fastgpu-agent %s %s\n", subcommand.name, subcommand.usage);
  return 2;
}

/// Returns true if the call shows that a user's fastgpu is attending to this node.
bool is_contact(std::string_view call) {
  constexpr std::string_view kByNodes[] = {"version", "libraries",    "rank",
                                           "rsh",     "start-daemon", "await-daemon"};
  return !contains(kByNodes, call) && !call.starts_with("guard-");
}

/// Returns true if the call takes as long as a disk or an index needs, so that its client needs
/// signs of life. Calls that run programs of the user, or that continue without the client, do not
/// count.
bool is_long(std::string_view call) {
  return call == "receive" || call == "send" || call == "relay" || call.starts_with("env-");
}

/// Returns true if a job's folder is gone, or goes within the next third of a second: a program
/// that removes it takes one file after the other, and the plan of the ranks is one of them.
bool is_removed(const std::filesystem::path& folder) {
  for (int i = 0; i < 30; ++i) {
    if (!std::filesystem::exists(folder / "rank")) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

/// Returns the error for a call that failed with `error`: a call that needs a job's folder fails in
/// many ways where the folder is missing, but for one cause.
Error explained(const std::vector<std::string>& words, const Error& error) try {
  const bool is_of_job = words.size() > 1 && (words[0].starts_with("job-") || words[0] == "rank") &&
                         words[1].find(".fastgpu/jobs/") != std::string::npos;
  const bool is_of_a_file =
      error.kind() == ErrorKind::local || error.kind() == ErrorKind::not_found;
  if (!is_of_job || !is_of_a_file) return error;
  const std::filesystem::path folder = below_home(words[1]);
  if (!is_removed(folder)) return error;
  return {error.kind(), "the folder of job " + folder.filename().string() + ", ~/.fastgpu/jobs/" +
                            folder.filename().string() + ", was removed while the job was in use"};
} catch (const std::exception&) {
  return error;
}

int run(const std::vector<std::string>& words) {
  if (words.empty()) return show_usage();
  if (is_contact(words[0])) note_contact();
  if (is_long(words[0])) start_pulse();
  for (const Subcommand& subcommand : kSubcommands)
    if (words[0] == subcommand.name) return subcommand.run(Arguments(words).subspan(1));
  return show_usage();
}

}  // namespace
}  // namespace fastgpu::agent

int main(int argc, char** argv) try {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // A write beyond the limit on file sizes then fails with EFBIG.
  return fastgpu::agent::run({argv + 1, argv + argc});
} catch (const std::exception&) {
  const fastgpu::Error error =
      fastgpu::agent::explained({argv + 1, argv + argc}, fastgpu::caught_error());
  const bool is_bug = error.kind() == fastgpu::ErrorKind::internal;
  std::fprintf(stderr, "%s%s\n", is_bug ? "fastgpu-agent: " : "", error.what());
  return fastgpu::agent::exit_code(error.kind());
}
