#include "cli/commands/job/run_job_options.hpp"

#include "cli/commands/job/host_choice.hpp"
#include "cli/commands/shared/node_path_flag.hpp"
#include "cli/commands/shared/target_argument.hpp"
#include "config/settings.hpp"
#include "launcher/job.hpp"

namespace fastgpu::cli {
namespace {

constexpr int kMostJobRanks = 100'000;

void describe_ranks(Arguments& arguments, RunJobOptions& options) {
  arguments.group("Rank");
  arguments
      .count("--np", "N", "Total number of ranks (one per slot)", options.ranks, 1, kMostJobRanks)
      .letter = "-np";
  arguments.count("--npernode", "K", "Number of ranks per node", options.per_node, 1,
                  kMostJobRanks);
  Argument& per = arguments.text("--per", "UNIT",
                                 "Give each rank a core, NUMA node, socket or GPU of its own, and "
                                 "bind it there",
                                 options.per);
  per.values = Values::choice;
  per.choices = {"core", "numa", "socket", "gpu"};
  arguments
      .text("--host", "NODE[:SLOTS],...",
            "Use these nodes of the cluster, with that many slots each", options.hosts)
      .letter = "-H";
  describe_host_file(arguments, options.hosts);
  Argument& engine =
      arguments.text("--engine", "NAME", "System that runs the job (mpirun)", options.engine);
  engine.values = Values::choice;
  engine.choices = {"mpirun", "slurm", "kubernetes"};
  Argument& launcher = arguments.text("--launcher", "NAME",
                                      "Program that starts the ranks (mpirun)", options.launcher);
  launcher.values = Values::choice;
  launcher.choices = {"mpirun", "torchrun", "plain"};
  Argument& input =
      arguments.text("--stdin", "TO", "Ranks that read standard input (rank0)", options.input);
  input.values = Values::choice;
  input.choices = {"rank0", "all", "none"};
  arguments.flag("--oversubscribe", "Allow more ranks than slots", options.oversubscribe);
  arguments.group("Queue");
  arguments.list("--after", "JOB", "Start after this job or array has succeeded", options.after)
      .values = Values::job;
  arguments.count("--priority", "N", "Start before waiting jobs of a lower priority (0)",
                  options.priority, -launcher::kMostPriority, launcher::kMostPriority);
  arguments.flag("--share", "Start at once, on slots that other jobs have", options.share);
  describe_array(arguments, options.array);
}

void describe_environment(Arguments& arguments, RunJobOptions& options) {
  arguments.group("Environment");
  describe_variables(arguments, options.variables, "every rank");
  arguments
      .list("--export", "NAME[=VALUE]", "The same as --env, as mpirun spells it", options.exported)
      .letter = "-x";
  arguments.list("--secret", "NAME[=@FILE]",
                 "Set a variable for every rank to its local value, or to the content of a file",
                 options.secrets);
  Argument& environment = arguments.text(
      "--environment", "NAME", "Run in this environment (the active one)", options.environment);
  environment.letter = "-E";
  environment.values = Values::environment;
  arguments.flag("--no-environment", "Run in no environment, not even the active one",
                 options.no_environment);
}

}  // namespace

void describe_run_job(Arguments& arguments, RunJobOptions& options) {
  arguments.text("NAME", "", "Name of the job (its program)", options.name);
  describe_cluster_flag(arguments, options.cluster);
  Argument& file =
      arguments.text("--file", "JOB.YAML", "Job file; - reads standard input", options.file);
  file.letter = "-f";
  file.values = Values::path;
  arguments.list("--set", "KEY=VALUE", "Override a field of the job file", options.set);
  arguments.duration("--timeout", "Stop the job after this long", options.timeout);
  arguments.duration("--grace", "Time between SIGTERM and SIGKILL when the job is ended (10s)",
                     options.grace);
  arguments.flag("--keep-processes", "Leave daemons of a job that ends well running",
                 options.keep_processes);
  Argument& full = arguments.text("--on-full", "ACTION",
                                  "Drop output, or stop the job, if the disk of its logs is full",
                                  options.on_full);
  full.values = Values::choice;
  full.choices = {"continue", "stop"};
  arguments.count("--keep-jobs", "N", "Ended jobs whose folders stay on its nodes (the setting)",
                  options.keep_jobs, 0, config::kMostKeptJobs);
  arguments.flag("--detach", "Return at once and leave the job running", options.detach).letter =
      "-d";
  arguments.flag("--check", "Check the nodes first, and do not start on one with an error",
                 options.check);
  arguments.flag("--dry-run", "Show where the ranks would run, without starting them",
                 options.dry_run);
  describe_ranks(arguments, options);
  describe_recovery(arguments, options.recovery);
  arguments
      .text("--post-mortem", "DIR",
            "If the job ends badly, collect logs and facts of its nodes in this directory",
            options.post_mortem)
      .values = Values::path;
  describe_environment(arguments, options);
  arguments.group("File");
  arguments
      .text("--sync", "DIR", "Copy this directory to the nodes and run the job there", options.sync)
      .values = Values::path;
  describe_node_path(arguments, "--workdir", "DIR", "Working directory on the nodes (home)",
                     options.directory);
  describe_after_job(arguments, options.after_job);
  arguments.group("");
  arguments.program({"The program of every rank and its arguments, passed on unchanged", false,
                     &options.program});
}

}  // namespace fastgpu::cli
