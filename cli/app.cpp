#include "cli/app.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/commands/commands.hpp"
#include "cli/common_flags.hpp"
#include "cli/help.hpp"
#include "cli/original.hpp"
#include "cli/parser.hpp"
#include "cli/tokens.hpp"
#include "cli/variables.hpp"
#include "config/document.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::array kCommands = {
    Command{"create", "cluster", Topic::clusters, Effect::changes, "Make a cluster",
            "fastgpu create cluster demo --nodes 2", describe_create_cluster,
            "Asking again for a cluster that exists in the same size changes nothing; in "
            "another size it is a conflict (exit code 6). Ctrl-C removes what was made. Local "
            "nodes are no security boundary: they share this machine's kernel and devices, and "
            "root on a node of root is root on this machine."},
    Command{"start", "cluster", Topic::clusters, Effect::changes, "Start a stopped cluster",
            "fastgpu start cluster demo", describe_start_cluster},
    Command{"stop", "cluster", Topic::clusters, Effect::changes, "Stop a cluster; its files stay",
            "fastgpu stop cluster demo", describe_stop_cluster},
    Command{"scale", "cluster", Topic::clusters, Effect::changes,
            "Add nodes to a cluster, or remove the last ones",
            "fastgpu scale cluster demo --nodes 4", describe_scale_cluster,
            "Scaling down removes the nodes with the highest numbers, with what is on them. Of a "
            "static cluster they are only forgotten; scaling up takes listed hosts back."},
    Command{"guard", "cluster", Topic::clusters, Effect::changes,
            "Say when a cluster stops or ends by itself",
            "fastgpu guard cluster demo --max-life 12h --idle-stop 30m", describe_guard_cluster,
            "The flags change what they name, and off takes it away; without any the guards are "
            "shown and put in place once more. Cloud and nodes keep them, whatever becomes of this "
            "machine; what neither of them can do `fastgpu gc` does."},
    Command{"why-awake", "", Topic::clusters, Effect::reads,
            "Show what keeps nodes from being idle", "fastgpu why-awake demo", describe_why_awake,
            "Jobs, commands, logins with keys pressed, connections, GPUs that compute, processes "
            "with a tenth of a core. OFF is when the node powers itself off as things are; due "
            "where it would be charged on when off, so that `fastgpu gc` has to stop it."},
    Command{
        "addip", "", Topic::clusters, Effect::changes,
        "Let this machine, or others, log in to a cluster of a cloud", "fastgpu addip demo",
        describe_addip,
        "The cluster's security group is opened for one address more, on port 22 alone. Without "
        "--ssh-from it is the address that this machine has seen from outside."},
    Command{
        "mount", "", Topic::clusters, Effect::changes,
        "Mount NFS exports on all nodes of a cluster of a cloud",
        "fastgpu mount demo 10.0.0.4:/models=/models", describe_mount,
        "Now and after each restart, with the options that the cloud recommends for its own file "
        "store; nodes that are added later get it as well. Without ADDRESS what the cluster has "
        "is put in place once more, and shown."},
    Command{
        "rename", "cluster", Topic::clusters, Effect::changes, "Give a cluster another name",
        "fastgpu rename cluster demo prod", describe_rename_cluster,
        "Nodes keep their names. In a cloud their tags say the new name, so that `fastgpu attach "
        "cluster` finds it elsewhere."},
    Command{"delete", "cluster", Topic::clusters, Effect::changes,
            "Delete a cluster with all that is on it", "fastgpu delete cluster demo --yes",
            describe_delete_cluster,
            "The hosts of a static cluster stay as they are; only the cluster's key is taken out "
            "of their ~/.ssh/authorized_keys. Logs of jobs stay in ~/.fastgpu/jobs there. A host "
            "that does not answer is named, and does not stop the deletion."},
    Command{"delete", "image", Topic::clouds, Effect::changes,
            "Delete an image that `fastgpu env bake` has made",
            "fastgpu delete image fastgpu-train-0123456789ab", describe_delete_image,
            "With its snapshots. Machines that were made of it go on."},
    Command{"delete", "job", Topic::jobs, Effect::changes,
            "Delete what is left of jobs that have ended", "fastgpu delete job --older-than 7d",
            describe_delete_job,
            "Their logs and what --sync copied go from the nodes, and they from `get jobs`. Nodes "
            "keep the newest 50 jobs for 30 days by themselves (settings keep-jobs, "
            "keep-jobs-for)."},
    Command{"get", "cluster", Topic::clusters, Effect::reads, "List clusters",
            "fastgpu get clusters -o json", describe_get_clusters},
    Command{"get", "node", Topic::nodes, Effect::reads, "List the nodes of one cluster or of all",
            "fastgpu get nodes demo", describe_get_nodes},
    Command{"get", "job", Topic::jobs, Effect::reads, "List jobs", "fastgpu get jobs",
            describe_get_jobs},
    Command{"get", "provider", Topic::clouds, Effect::reads,
            "List the places that can give machines", "fastgpu get providers",
            describe_get_providers},
    Command{
        "get", "instance-type", Topic::clouds, Effect::reads,
        "List the types of machines that clouds have",
        "fastgpu get instance-types --gpus A100:8 --cloud aws", describe_get_instance_types,
        "Without --gpus and --instance-type those with any GPU. Clouds and regions are asked at "
        "once."},
    Command{"get", "price", Topic::clouds, Effect::reads,
            "List what machines cost and whether they can be had",
            "fastgpu get prices --gpus A100:8 --spot", describe_get_prices,
            "The cheapest first; what speaks against an offer stands in its last column."},
    Command{"get", "zone", Topic::clouds, Effect::reads, "List the zones that have such machines",
            "fastgpu get zones --gpus H100:8", describe_get_zones},
    Command{"get", "image", Topic::clouds, Effect::reads, "List images to boot from",
            "fastgpu get images --cloud aws --region us-east-1", describe_get_images},
    Command{"get", "quota", Topic::clouds, Effect::reads, "List how much an account may have",
            "fastgpu get quotas --cloud aws --region us-east-1", describe_get_quotas},
    Command{"describe", "cluster", Topic::clusters, Effect::reads,
            "Show all that is known of a cluster", "fastgpu describe cluster demo",
            describe_describe_cluster},
    Command{"describe", "node", Topic::nodes, Effect::reads, "Show all that is known of a node",
            "fastgpu describe node demo-0", describe_describe_node},
    Command{"describe", "job", Topic::jobs, Effect::reads, "Show all that is known of a job",
            "fastgpu describe job train-1", describe_describe_job},
    Command{"ssh", "", Topic::nodes, Effect::runs, "Log in to a node", "fastgpu ssh demo/0",
            describe_ssh,
            "With a terminal here it is a login; without one, standard input is streamed "
            "through. Words after -- arrive as they are: there is no shell in between, so "
            "write sh -c '...' where you want one. In a login, ~. at the start of a line "
            "leaves a node that hangs, and ~? lists such keys."},
    Command{
        "tmux", "", Topic::nodes, Effect::runs, "Log in to a shell that goes on without us",
        "fastgpu tmux demo/0", describe_tmux,
        "The session is made where it is not there yet. It outlives the connection: leave it by "
        "Ctrl-B D, or by closing the window, and the same command comes back to it. It ends "
        "with its last shell, or with the node. A session keeps no node awake by being there; "
        "what runs in it may (why-awake). The exit code is tmux's own, not the program's."},
    Command{"exec", "", Topic::nodes, Effect::runs, "Run a program on all nodes at once",
            "fastgpu exec demo -b -- uname -r", describe_exec,
            "Lines appear as they come, with the host in front; -b waits and folds equal "
            "outputs. The exit code is the highest. What was started is ended when we are "
            "interrupted, time out, or are killed. What waits for the end, by -b or -o, is cut at "
            "64 MiB of a stream and 512 MiB of all nodes; which was cut is said. Standard input "
            "goes to the program on every node where it is a file or a pipe; in a loop that "
            "reads, give </dev/null."},
    Command{"cp", "", Topic::nodes, Effect::changes, "Copy files to nodes or from them",
            "fastgpu cp data.bin demo:/tmp/", describe_cp,
            "One side is CLUSTER[/NODES]:PATH. As cp -r: into a directory that exists, under "
            "the new name otherwise. Every file is checked by SHA-256 before it becomes "
            "visible under its name. What is large leaves here once, and each node passes it on to "
            "the next while it receives; --direct sends it to every node from here."},
    Command{"run", "job", Topic::jobs, Effect::changes, "Run a program as a distributed job",
            "fastgpu run job --cluster demo -np 2 -- ./train --epochs 10", describe_run_job,
            "Exits with the code of the first rank that failed by itself, 128 + signal for a "
            "signal. Ctrl-C stops all ranks everywhere. Logs are on the nodes, in "
            "~/.fastgpu/jobs/ID. Standard input goes to rank 0 where it is a file or a pipe; a "
            "detached job has none. RANK, WORLD_SIZE, MASTER_ADDR and the others that training "
            "scripts read are set."},
    Command{
        "bench", "comm", Topic::jobs, Effect::runs,
        "Measure how fast the ranks of a cluster exchange data",
        "fastgpu bench comm demo -o html > bench.html", describe_bench_comm,
        "Runs libfastgpu_comm as a job on the nodes, and checks each collective before it is "
        "timed: batches of calls between barriers, the slowest rank, the median. Bandwidths are "
        "those of nccl-tests. A model is resnet50, bert-large or a file of lines "
        "'name elements'; given alone, its gradients are all that is measured."},
    Command{"logs", "", Topic::jobs, Effect::reads, "Show what a job wrote",
            "fastgpu logs train-1 --rank 0", describe_logs,
            "What the ranks wrote, from the nodes' disks. With --rank it is that rank's bytes "
            "and nothing else."},
    Command{"wait", "job", Topic::jobs, Effect::reads,
            "Wait for the end of a job and take over its exit code", "fastgpu wait job train-1",
            describe_wait_job},
    Command{"attach", "job", Topic::jobs, Effect::reads,
            "Watch a running job; Ctrl-C leaves it running", "fastgpu attach job train-1 --tail 10",
            describe_attach_job, "Ctrl-C leaves the job running."},
    Command{"attach", "cluster", Topic::clusters, Effect::changes,
            "Take over a cluster of a cloud that another machine has made",
            "fastgpu attach cluster demo --provider aws --ssh-key ~/.ssh/id_ed25519",
            describe_attach_cluster,
            "The cluster is found by its machines' tags, its head node known again by the "
            "fingerprint that stands there. From then on this machine changes it; the other one "
            "can go on using it, and take it back in the same way."},
    Command{"cancel", "job", Topic::jobs, Effect::changes, "Stop a job on all of its nodes",
            "fastgpu cancel job train-1", describe_cancel_job},
    Command{"env", "create", Topic::environments, Effect::changes,
            "Make an environment on all nodes: solved and built once, then copied",
            "fastgpu env create train -f env.yaml --cluster demo", describe_env_create,
            "What is done already is not done again; a node that died half-way is repaired by the "
            "same command. Every file is checked by its SHA-256 before the environment is used. A "
            "NAME alone that is none of the matrix brings nodes what others of the cluster have."},
    Command{"env", "install-frameworks", Topic::environments, Effect::changes,
            "Install frameworks into an environment on all nodes",
            "fastgpu env install-frameworks train --cluster demo --framework torch==2.5.1",
            describe_env_frameworks,
            "Without --framework those of the name of the matrix that the environment was made "
            "from. What it has stays; the result is a new build, switched to at once."},
    Command{"env", "bake", Topic::environments, Effect::changes,
            "Make an image of a node, for clusters that begin with the environment",
            "fastgpu env bake train --cluster demo", describe_env_bake,
            "The image has the node's system disk, drivers included, without keys and without what "
            "fastgpu keeps there; the node stays in service. `fastgpu create cluster --image NAME` "
            "starts from it. What is made of the same already is not made again."},
    Command{"env", "list", Topic::environments, Effect::reads,
            "List environments: on which nodes, complete or not", "fastgpu env list --cluster demo",
            describe_env_list},
    Command{"env", "activate", Topic::environments, Effect::changes,
            "Make an environment the one that logins and jobs get",
            "fastgpu env activate train --cluster demo", describe_env_activate,
            "With a program after -- that is run in the environment on every node, and nothing is "
            "changed."},
    Command{"env", "verify", Topic::environments, Effect::reads,
            "Check every file of an environment on every node",
            "fastgpu env verify train --cluster demo", describe_env_verify,
            "Exit code 1 where a file has changed or is missing."},
    Command{"env", "remove", Topic::environments, Effect::changes,
            "Remove an environment, or all, and what came with them",
            "fastgpu env remove train --cluster demo", describe_env_remove,
            "With --all the nodes' files are as before the first environment, start-up files of "
            "shells included."},
    Command{
        "env", "pack", Topic::environments, Effect::writes, "Fetch an environment as an archive",
        "fastgpu env pack train --cluster demo --out train.tar.zst", describe_env_pack,
        "A tar archive packed by zstd, with the manifest of every file's SHA-256 in it "
        "(.fastgpu/manifest). It is read once more, and a warning says where `env unpack` would "
        "not take it: where a file is damaged, or a link leads out of the environment."},
    Command{
        "env", "unpack", Topic::environments, Effect::changes,
        "Put an environment from an archive on all nodes",
        "fastgpu env unpack train.tar.zst --cluster demo", describe_env_unpack,
        "All of the archive is read here first: one that is cut off, changed or no environment "
        "is refused before a node is asked. One node gets it from here, the others from that "
        "one. It works only where it was packed for, and that is where it goes. Whoever uses it "
        "runs what is in it: take archives from those that you trust."},
    Command{
        "env", "demo", Topic::environments, Effect::runs,
        "Train a small model in an environment, on one rank and on many",
        "fastgpu env demo train --cluster demo", describe_env_demo,
        "Handwritten digits, with numpy, PyTorch, TensorFlow, JAX and MXNet, whichever it has, as "
        "jobs whose ranks exchange gradients by libfastgpu_comm. Exit code 1 where many ranks do "
        "not come to the accuracy of one. The scripts are in the environment: "
        "share/fastgpu/demo."},
    Command{"env", "lock", Topic::environments, Effect::writes,
            "Solve an environment and write down every artefact with its sum",
            "fastgpu env lock -f env.yaml --out env.lock", describe_env_lock,
            "Without --cluster it is solved for this machine, with it for the cluster's first "
            "node."},
    Command{"env", "diff", Topic::environments, Effect::reads,
            "Show what differs between two locks", "fastgpu env diff a.lock b.lock",
            describe_env_diff, "Exit code 1 where they differ."},
    Command{"env", "matrix", Topic::environments, Effect::reads,
            "Show what goes with what: driver, CUDA, cuDNN, NCCL, Python, frameworks",
            "fastgpu env matrix --cuda 12.4", describe_env_matrix,
            "The matrix is part of the program and says its date. With the NAME of an environment "
            "it shows what that installs, or why it cannot be and which names are near."},
    Command{"env", "install-driver", Topic::environments, Effect::changes,
            "Install GPU drivers and CUDA on all nodes",
            "fastgpu env install-driver --cluster train --driver 580 --cuda 13.0",
            describe_env_install_driver,
            "Each node is looked at, planned for, and taken through its plan; what is done is not "
            "done again. After a failure, a reboot or a Ctrl-C the same command goes on where the "
            "node stands."},
    Command{"init", "", Topic::program, Effect::writes,
            "Write a commented cluster file or job file to start from", "fastgpu init cluster",
            describe_init, "Never overwrites a file."},
    Command{"gc", "", Topic::program, Effect::changes, "Put right what runs that died left behind",
            "fastgpu gc --dry-run", describe_gc,
            "Settles what killed runs left in the journal, removes what no cluster owns, and does "
            "what guards demand and neither cloud nor nodes have done. A disk that is nearly full "
            "is named, with what fills it."},
    Command{"completion", "", Topic::program, Effect::reads,
            "Print the completion script of a shell", "source <(fastgpu completion bash)",
            describe_completion,
            "An installed fastgpu is completed without further ado where bash-completion, zsh or "
            "fish find their scripts. Otherwise put one line where the shell starts:\n"
            "  source <(fastgpu completion bash)    into ~/.bashrc\n"
            "  source <(fastgpu completion zsh)     into ~/.zshrc, after compinit\n"
            "  fastgpu completion fish | source     into ~/.config/fish/config.fish",
            true},
    Command{"doctor", "", Topic::program, Effect::reads,
            "Check whether this machine has what fastgpu needs", "fastgpu doctor", describe_doctor,
            "Exit code 1 when something is missing that local clusters need; each finding "
            "names its remedy.",
            true},
    Command{"version", "", Topic::program, Effect::reads, "Show the version", "fastgpu version",
            describe_version, "", true},
    Command{"__complete", "", Topic::program, Effect::reads, "", "", describe_complete, "", true},
    Command{"__man", "", Topic::program, Effect::reads, "", "", describe_man, "", true},
};

/// Runs `step`; what is wrong then is only a warning for a command that runs anyway.
template <class Step>
void unless_it_runs_anyway(bool runs_anyway, Ui& ui, Step step) {
  try {
    step();
  } catch (const Error& e) {
    if (!runs_anyway) throw;
    ui.warn(e.what());
  }
}

/// A setting of the presentation, which the command line or a variable may have fixed already.
std::string chosen(Context& context, const std::string& given, std::string_view key) {
  return given.empty() ? context.settings().text(key) : given;
}

void apply_color(const CommonFlags& common, Context& context) {
  const std::string color = chosen(context, common.color, "color");
  if (color == "auto") return;
  const ColorWish colors = color == "always" ? ColorWish::always : ColorWish::never;
  context.ui().set_terminal(look_at_terminal(colors, context.environment()));
}

void apply_format(const CommonFlags& common, const Arguments& arguments, Context& context) {
  const Format format = parse_format(chosen(context, common.output, "output"));
  if (format == Format::html && !arguments.offers_page())
    throw Error(ErrorKind::usage, "output 'html': this command has no page to show");
  context.ui().set_format(format);
}

void apply(const CommonFlags& common, const Arguments& arguments, const Command& command,
           Context& context) {
  Ui& ui = context.ui();
  if (common.quiet) ui.set_chatter(Chatter::quiet);
  ui.set_table_wish(
      {.sort_by = common.sort_by, .titles = common.no_headers ? Titles::left_out : Titles::shown});
  if (common.verbose) context.clouds().show_calls();
  if (!common.state_directory.empty()) context.set_state_directory(common.state_directory);
  unless_it_runs_anyway(command.runs_anyway, ui, [&] {
    apply_format(common, arguments, context);
    apply_color(common, context);
  });
}

void check_variables(Context& context, const Command& command) {
  const auto faults = unknown_variables(context.variable_names(), commands(), command);
  // In a job the agent that has set them may be another version than this program.
  const bool is_in_job = context.environment()("FASTGPU_JOB_ID").has_value();
  for (const std::string& fault : faults)
    unless_it_runs_anyway(command.runs_anyway || is_in_job, context.ui(),
                          [&] { throw Error(ErrorKind::usage, fault); });
}

int width_of(Context& context) {
  return context.ui().terminal().width;
}

/// The end of a command that has succeeded, or not: under -o json it has shown a document.
int finished(Context& context, const Command& command, int code) {
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
    throw Error(ErrorKind::usage, "no command among the words; fastgpu --help lists them");
  context.ui().error_data(help_for_all(commands(), context.ui().terminal().err_width));
  return exit_code(ErrorKind::usage);
}

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

int run_app(const std::vector<std::string>& words, Context& context) {
  const Resolved resolved =
      resolve(commands(), in_our_words(verb_first(commands(), words), config::read_text));
  if (resolved.command == nullptr) return run_without_command(resolved, context);
  const Command& command = *resolved.command;
  CommonFlags common;
  Arguments arguments;
  const Action action = command.describe(arguments);
  describe_common(arguments, common);
  if (resolved.help) {
    context.ui().data(help_for_command(command, arguments, width_of(context)));
    return 0;
  }
  const bool hidden = command.summary.empty();  // Completion answers whatever the files say.
  HearFault hear;
  if (command.runs_anyway)
    hear = [&](const Error& e) {
      if (!hidden) context.ui().warn(e.what());
    };
  if (!hidden) check_variables(context, command);
  parse_words(command.words(), resolved.rest, arguments, context.environment(), hear);
  if (!hidden) apply(common, arguments, command, context);
  if (command.effect == Effect::changes) context.set_stopping_words("stopping " + command.words());
  return finished(context, command, action(context));
}

std::optional<Format> wanted_document(std::span<const std::string> words,
                                      const state::Environment& environment) {
  CommonFlags common;
  Arguments arguments;
  try {
    const Resolved resolved = resolve(commands(), {words.begin(), words.end()});
    if (resolved.command != nullptr) resolved.command->describe(arguments);
  } catch (const Error&) {  // What is wrong there will be said.
  }
  describe_common(arguments, common);
  std::string wish = environment("FASTGPU_OUTPUT").value_or("");
  const auto program = std::ranges::find(words, "--");
  for (const Token& token : tokens_of({words.begin(), program}, arguments))
    if (token.argument != nullptr && token.argument->name == "--output" && token.value)
      wish = *token.value;
  if (wish == "json") return Format::json;
  if (wish == "yaml") return Format::yaml;
  return std::nullopt;
}

}  // namespace fastgpu::cli
