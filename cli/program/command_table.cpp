#include "cli/program/command_table.hpp"

#include <array>

#include "cli/commands/commands.hpp"

namespace fastgpu::cli {
namespace {

constexpr std::array kCommands = {
    CliCommand{
        "create", "cluster", Topic::clusters, Effect::changes, "Create a cluster",
        "fastgpu create cluster demo --nodes 2", make_create_cluster_command,
        "Creating a cluster that exists in the same size changes nothing; another size is a "
        "conflict (exit code 6). Ctrl-C removes what was created. Local nodes are not a "
        "security boundary: they share this machine's kernel and devices, and root on a node "
        "of root is root on this machine."},
    CliCommand{"start", "cluster", Topic::clusters, Effect::changes, "Start a stopped cluster",
               "fastgpu start cluster demo", make_start_cluster_command},
    CliCommand{"stop", "cluster", Topic::clusters, Effect::changes,
               "Stop a cluster and keep its disks", "fastgpu stop cluster demo",
               make_stop_cluster_command},
    CliCommand{
        "scale", "cluster", Topic::clusters, Effect::changes,
        "Add nodes to a cluster, or remove the last ones", "fastgpu scale cluster demo --nodes 4",
        make_scale_cluster_command,
        "Scaling down removes the nodes with the highest numbers and all data on them. Hosts of a "
        "static cluster are kept, and jobs there are stopped; scaling up adds listed hosts again."},
    CliCommand{"guard", "cluster", Topic::clusters, Effect::changes,
               "Set when a cluster is stopped or deleted automatically",
               "fastgpu guard cluster demo --max-life 12h --idle-stop 30m",
               make_guard_cluster_command,
               "Each flag sets one guard, and the value off removes it. Without flags the command "
               "shows the guards and installs them again. The cloud and the nodes enforce guards "
               "without this machine; `fastgpu gc` enforces those that neither of them can."},
    CliCommand{
        "why-awake", "", Topic::clusters, Effect::reads, "Show what keeps nodes from being idle",
        "fastgpu why-awake demo", make_why_awake_command,
        "A node is busy with jobs, commands, logins with recent input, connections, computing "
        "GPUs, and processes that use a tenth of a core. OFF is the time at which the node "
        "powers itself off; due means that the cloud would still charge for it, so that "
        "`fastgpu gc` has to stop it."},
    CliCommand{
        "check", "cluster", Topic::clusters, Effect::reads,
        "Look for what would make jobs fail or slow", "fastgpu check cluster demo",
        make_check_cluster_command,
        "Compares versions, clocks, disks, memory, GPUs, RDMA ports and host names of the nodes, "
        "tries the TCP connections between all of them, and looks for leftovers of former jobs. "
        "One line a finding: what was found, why it matters, what to do. The exit code is 1 if "
        "there is an error, and 0 with warnings alone."},
    CliCommand{
        "check", "net", Topic::clusters, Effect::runs,
        "Measure the connections between nodes, and find slow ones", "fastgpu check net demo",
        make_check_net_command,
        "Each pair of nodes is measured by itself over TCP, in both directions, and then an "
        "all-reduce of all nodes by libfastgpu_comm. Connections far below the others are "
        "findings. It is an error if the nodes have RDMA and the all-reduce does not use it. "
        "Other jobs on the nodes make the figures worse."},
    CliCommand{
        "addip", "", Topic::clusters, Effect::changes,
        "Allow SSH to a cloud cluster from this machine or from other addresses",
        "fastgpu addip demo", make_addip_command,
        "Adds a range of addresses to the cluster's security group, for port 22 only. Without "
        "--ssh-from it is the public address of this machine. --remove closes port 22 to the range "
        "again; connections that are open stay open."},
    CliCommand{
        "mount", "", Topic::clusters, Effect::changes,
        "Mount NFS exports on all nodes of a cloud cluster",
        "fastgpu mount demo 10.0.0.4:/models=/models", make_mount_command,
        "Mounts the export now and after each restart, on nodes that are added later, too, "
        "with the options that the cloud recommends for its own file store. Without an export "
        "the command shows the mounts of the cluster and makes them again."},
    CliCommand{"rename", "cluster", Topic::clusters, Effect::changes, "Rename a cluster",
               "fastgpu rename cluster demo prod", make_rename_cluster_command,
               "Nodes keep their names. In a cloud their tags get the new name, by which `fastgpu "
               "attach cluster` finds the cluster from another machine."},
    CliCommand{
        "delete", "cluster", Topic::clusters, Effect::changes,
        "Delete a cluster and all data on it", "fastgpu delete cluster demo --yes",
        make_delete_cluster_command,
        "Hosts of a static cluster are kept; jobs there are stopped, and the cluster's key is "
        "removed from their ~/.ssh/authorized_keys. Logs of jobs stay in ~/.fastgpu/jobs there. A "
        "host that does "
        "not answer is reported and does not stop the deletion."},
    CliCommand{"delete", "image", Topic::clouds, Effect::changes,
               "Delete an image made by `fastgpu env bake`",
               "fastgpu delete image fastgpu-train-0123456789ab", make_delete_image_command,
               "Deletes its snapshots, too. Machines that were created from it keep running."},
    CliCommand{
        "delete", "job", Topic::jobs, Effect::changes,
        "Delete ended jobs and their files on the nodes", "fastgpu delete job --older-than 7d",
        make_delete_job_command,
        "Removes logs and directories of --sync from the nodes, and the jobs from `get jobs`. "
        "Without this command nodes keep the newest 50 jobs for 30 days (settings keep-jobs "
        "and keep-jobs-for, and run job --keep-jobs)."},
    CliCommand{"get", "cluster", Topic::clusters, Effect::reads, "List clusters",
               "fastgpu get clusters -o json", make_get_clusters_command},
    CliCommand{"get", "node", Topic::nodes, Effect::reads,
               "List the nodes of one cluster or of all clusters", "fastgpu get nodes demo",
               make_get_nodes_command},
    CliCommand{"get", "job", Topic::jobs, Effect::reads, "List jobs", "fastgpu get jobs",
               make_get_jobs_command},
    CliCommand{"get", "provider", Topic::clouds, Effect::reads,
               "List providers: this machine, existing hosts and clouds", "fastgpu get providers",
               make_get_providers_command},
    CliCommand{
        "get", "instance-type", Topic::clouds, Effect::reads, "List instance types of clouds",
        "fastgpu get instance-types --gpus A100:8 --cloud aws", make_get_instance_types_command,
        "Without --gpus and --instance-type it lists every type with GPUs."},
    CliCommand{"get", "price", Topic::clouds, Effect::reads,
               "List prices of instance types, and whether they are available",
               "fastgpu get prices --gpus A100:8 --spot", make_get_prices_command,
               "The cheapest comes first. The last column says why an offer cannot be used."},
    CliCommand{"get", "zone", Topic::clouds, Effect::reads, "List zones that have an instance type",
               "fastgpu get zones --gpus H100:8", make_get_zones_command},
    CliCommand{"get", "image", Topic::clouds, Effect::reads, "List images to boot from",
               "fastgpu get images --cloud aws --region us-east-1", make_get_images_command},
    CliCommand{"get", "quota", Topic::clouds, Effect::reads, "List quotas of an account",
               "fastgpu get quotas --cloud aws --region us-east-1", make_get_quotas_command},
    CliCommand{"describe", "cluster", Topic::clusters, Effect::reads, "Show details of a cluster",
               "fastgpu describe cluster demo", make_describe_cluster_command},
    CliCommand{"describe", "node", Topic::nodes, Effect::reads, "Show details of a node",
               "fastgpu describe node demo-0", make_describe_node_command},
    CliCommand{"describe", "job", Topic::jobs, Effect::reads, "Show details of a job",
               "fastgpu describe job train-1", make_describe_job_command},
    CliCommand{
        "top", "", Topic::nodes, Effect::reads, "Show how busy nodes are, until Ctrl-C",
        "fastgpu top demo", make_top_command,
        "CPU is the share of all cores. GPUS is their number and how busy they are, from the "
        "least busy to the busiest where they differ. RECEIVED and SENT are of all network "
        "devices, "
        "or of all interfaces where a node has no device. METRICS is what rank 0 of a job printed "
        "last of a loss, an accuracy or another measure. A job in Slurm has a row of its own, "
        "because Slurm chooses the nodes. Without CLUSTER it shows the jobs in Kubernetes. Without "
        "a "
        "terminal, with --once and "
        "with -o it shows the figures of one second. Watching keeps no node awake. Nodes of a "
        "local cluster share the "
        "processor and the memory of this machine."},
    CliCommand{"ssh", "", Topic::nodes, Effect::runs, "Log in to a node", "fastgpu ssh demo/0",
               make_ssh_command,
               "On a terminal it is a login; without one, standard input goes to the program. "
               "Arguments after -- arrive unchanged: there is no shell in between, so write sh -c "
               "'...' if you want one. In a login, ~. at the start of a line leaves a node that "
               "hangs, and ~? lists such keys."},
    CliCommand{
        "tmux", "", Topic::nodes, Effect::runs, "Open a persistent shell (tmux) on a node",
        "fastgpu tmux demo/0", make_tmux_command,
        "Creates the session if it is missing. Leave it by Ctrl-B D or by closing the window; "
        "the same command returns to it. It ends with its last shell or with the node. A "
        "session alone does not keep a node awake; a program in it may (see why-awake). The "
        "exit code is that of tmux."},
    CliCommand{
        "exec", "", Topic::nodes, Effect::runs, "Run a program on all nodes at once",
        "fastgpu exec demo -b -- uname -r", make_exec_command,
        "Prints lines as they arrive, with the host in front; -b waits and shows equal outputs "
        "once. The exit code is the highest of all nodes. The program is stopped if fastgpu is "
        "interrupted, killed or times out. With -b or -o output is truncated to 64 MiB per "
        "stream and 512 MiB in total; truncated nodes are reported. Standard input goes to "
        "every node if it is a file or a pipe; in a loop that reads, add </dev/null."},
    CliCommand{
        "cp", "", Topic::nodes, Effect::changes, "Copy files to nodes or from them",
        "fastgpu cp data.bin demo:/tmp/", make_cp_command,
        "One side is CLUSTER[/NODES]:PATH. Copies as cp -r does: into a directory that exists, "
        "under the new name otherwise. A file or link that is there is replaced; a device or a "
        "pipe is not. Every file is checked by SHA-256 before it becomes visible. Long runs of "
        "zeros, as in sparse files, take no room on the disk there. A large copy is "
        "sent once, and each node passes it on to the next while it "
        "receives; --direct sends it to every node from here."},
    CliCommand{
        "run", "job", Topic::jobs, Effect::changes, "Run a program as a distributed job",
        "fastgpu run job --cluster demo -np 2 -- ./train --epochs 10", make_run_job_command,
        "The exit code is that of the first rank that failed by itself, or 128 + signal. "
        "Ctrl-C stops all ranks: they get SIGTERM, and --grace to end. Logs are on the nodes, "
        "in ~/.fastgpu/jobs/ID. Standard input "
        "goes to rank 0 if it is a file or a pipe; a detached job has none. RANK, WORLD_SIZE, "
        "LOCAL_RANK, MASTER_ADDR and the other variables of training scripts are set."},
    CliCommand{
        "bench", "comm", Topic::jobs, Effect::runs,
        "Measure how fast the ranks of a cluster exchange data",
        "fastgpu bench comm demo -o html > bench.html", make_bench_comm_command,
        "Runs libfastgpu_comm as a job on the nodes, and checks the result of each collective "
        "before timing it. Times are of batches of calls between barriers: the slowest rank, "
        "the median. Bandwidths are defined as in nccl-tests. With --model alone only the "
        "gradients of that model are measured."},
    CliCommand{
        "logs", "", Topic::jobs, Effect::reads, "Show the output of a job",
        "fastgpu logs train-1 --rank 0", make_logs_command,
        "Reads the output of the ranks from the nodes. With --rank it prints the bytes of that "
        "rank and nothing else."},
    CliCommand{
        "report", "", Topic::jobs, Effect::reads, "Show how each rank of a job ended",
        "fastgpu report train-1 --out report.html", make_report_command,
        "The page has the timeline of the ranks, their exit codes, their placement, how busy "
        "their nodes were, the counters and timelines of libfastgpu_comm and the ends of the "
        "logs. It needs no other file. `-o html` prints it."},
    CliCommand{"wait", "job", Topic::jobs, Effect::reads, "Wait for jobs and exit with their code",
               "fastgpu wait job train-1 eval-1 --junit jobs.xml", make_wait_job_command,
               "The exit code is that of the first job in the order given that did not succeed."},
    CliCommand{"attach", "job", Topic::jobs, Effect::reads,
               "Watch a running job; Ctrl-C leaves it running",
               "fastgpu attach job train-1 --tail 10", make_attach_job_command,
               "Ctrl-C leaves the job running."},
    CliCommand{
        "attach", "cluster", Topic::clusters, Effect::changes,
        "Take over a cloud cluster that another machine has created",
        "fastgpu attach cluster demo --provider aws --ssh-key ~/.ssh/id_ed25519",
        make_attach_cluster_command,
        "Finds the cluster by the tags of its machines, and verifies the head node by the "
        "fingerprint in them. From then on this machine manages the cluster; the other one can "
        "still use it, and take it back the same way."},
    CliCommand{"cancel", "job", Topic::jobs, Effect::changes, "Stop jobs on all of their nodes",
               "fastgpu cancel job train-1", make_cancel_job_command},
    CliCommand{
        "env", "create", Topic::environments, Effect::changes,
        "Create an environment on all nodes: solved and built once, then copied",
        "fastgpu env create train -f env.yaml --cluster demo", make_env_create_command,
        "Repeats nothing that is done; the same command repairs a node that failed half-way. "
        "Every file is checked by its SHA-256 before the environment is used. A NAME that "
        "other nodes of the cluster have is copied to the rest."},
    CliCommand{"env", "install-frameworks", Topic::environments, Effect::changes,
               "Install frameworks into an environment on all nodes",
               "fastgpu env install-frameworks train --cluster demo --framework torch==2.5.1",
               make_env_frameworks_command,
               "Without --framework it installs the frameworks of the matrix name that the "
               "environment was created from. Installed packages stay; the result is a new build, "
               "which is activated at once."},
    CliCommand{
        "env", "bake", Topic::environments, Effect::changes,
        "Create an image of a node, for clusters that start with the environment",
        "fastgpu env bake train --cluster demo", make_env_bake_command,
        "The image contains the node's system disk with drivers, without keys and without "
        "files of fastgpu; the node stays in service. `fastgpu create cluster --image NAME` "
        "starts from it. An image with the same environment, base image and driver is not created "
        "again; other files on the node are not compared."},
    CliCommand{"env", "list", Topic::environments, Effect::reads,
               "List environments and the nodes that have them", "fastgpu env list --cluster demo",
               make_env_list_command},
    CliCommand{"env", "activate", Topic::environments, Effect::changes,
               "Activate an environment for logins and jobs",
               "fastgpu env activate train --cluster demo", make_env_activate_command,
               "A program after -- runs in the environment on every node, without activating it."},
    CliCommand{"env", "verify", Topic::environments, Effect::reads,
               "Check every file of an environment on every node",
               "fastgpu env verify train --cluster demo", make_env_verify_command,
               "The exit code is 1 if a file has changed or is missing."},
    CliCommand{
        "env",
        "remove", Topic::environments, Effect::changes,
        "Remove an environment, or all environments", "fastgpu env remove train --cluster demo",
        make_env_remove_command,
        "Refuses while a job runs in it or waits to. With --all the files of the nodes are as "
        "before the first environment, including start-up files of shells."},
    CliCommand{"env", "pack", Topic::environments, Effect::writes,
               "Download an environment as an archive",
               "fastgpu env pack train --cluster demo --out train.tar.zst", make_env_pack_command,
               "Writes a tar archive packed by zstd, with the SHA-256 of every file in "
               ".fastgpu/manifest. Warns if `env unpack` would refuse it: a file is damaged, or a "
               "link leads out of the environment."},
    CliCommand{
        "env",
        "unpack", Topic::environments, Effect::changes,
        "Install an environment from an archive on all nodes",
        "fastgpu env unpack train.tar.zst --cluster demo", make_env_unpack_command,
        "Reads the whole archive here first, and refuses one that is incomplete, changed or "
        "not an environment. One node gets it from here, the others from that node. It is "
        "installed at the path that it was packed from. Programs in it run on your nodes: use "
        "archives only from sources that you trust."},
    CliCommand{
        "env",
        "demo", Topic::environments, Effect::runs,
        "Train a small model in an environment, on one rank and on many",
        "fastgpu env demo train --cluster demo", make_env_demo_command,
        "Trains on handwritten digits with each of numpy, PyTorch, TensorFlow, JAX and MXNet "
        "that the environment has, as jobs whose ranks exchange gradients by libfastgpu_comm. "
        "The exit code is 1 if many ranks do not reach the accuracy of one. The scripts are in "
        "the environment, in share/fastgpu/demo."},
    CliCommand{
        "env",
        "lock", Topic::environments, Effect::writes,
        "Solve an environment and write a lock with the SHA-256 of every file",
        "fastgpu env lock -f env.yaml --out env.lock", make_env_lock_command,
        "Without --cluster it is solved for this machine, otherwise for the first node of the "
        "cluster."},
    CliCommand{"env", "diff", Topic::environments, Effect::reads,
               "Show the differences between two locks", "fastgpu env diff a.lock b.lock",
               make_env_diff_command, "The exit code is 1 if they differ."},
    CliCommand{
        "env",
        "matrix", Topic::environments, Effect::reads,
        "Show compatible versions of driver, CUDA, cuDNN, NCCL, Python and frameworks",
        "fastgpu env matrix --cuda 12.4", make_env_matrix_command,
        "The matrix is part of the program and shows its date. With the NAME of an environment "
        "it shows the packages of that name, or why they cannot be installed, with the nearest "
        "names."},
    CliCommand{
        "env",
        "install-driver", Topic::environments, Effect::changes,
        "Install GPU drivers and CUDA on all nodes",
        "fastgpu env install-driver --cluster train --driver 580 --cuda 13.0",
        make_env_install_driver_command,
        "Plans the steps of each node and runs them; finished steps are not repeated. After a "
        "failure, a reboot or Ctrl-C the same command continues."},
    CliCommand{"init", "", Topic::program, Effect::writes,
               "Write a commented cluster file or job file", "fastgpu init cluster",
               make_init_command, "Never overwrites a file."},
    CliCommand{
        "schema", "", Topic::program, Effect::reads,
        "Print the JSON Schema of a file, or of a document that a command prints",
        "fastgpu schema job > job.schema.json", make_schema_command,
        "Without a name it lists the schemas. Editors that know JSON Schema complete and check "
        "files, and validators in CI check documents. A line \"# yaml-language-server: "
        "$schema=job.schema.json\" names the schema in a file."},
    CliCommand{
        "gc", "", Topic::program, Effect::changes, "Clean up after interrupted runs",
        "fastgpu gc --dry-run", make_gc_command,
        "Completes or undoes the unfinished steps of interrupted runs, removes resources that "
        "no cluster owns, and enforces guards that neither the cloud nor the nodes have "
        "enforced. On the nodes of clusters it removes the folders of deleted jobs, and those "
        "that the settings keep-jobs and keep-jobs-for do not keep. Reports a disk that is "
        "nearly full, and the files that fill it."},
    CliCommand{
        "completion", "", Topic::program, Effect::reads, "Print the completion script of a shell",
        "source <(fastgpu completion bash)", make_completion_command,
        "An installed fastgpu needs nothing else if bash-completion, zsh or fish find their "
        "scripts. Otherwise add one line to the shell's start-up file:\n  source <(fastgpu "
        "completion bash)    to ~/.bashrc\n  source <(fastgpu completion zsh)     to ~/.zshrc, "
        "after compinit\n  fastgpu completion fish | source     to ~/.config/fish/config.fish",
        true},
    CliCommand{"doctor", "", Topic::program, Effect::reads,
               "Check whether this machine meets the requirements of fastgpu", "fastgpu doctor",
               make_doctor_command,
               "The exit code is 1 if something is missing that local clusters need. Each finding "
               "names its remedy.",
               true},
    CliCommand{"version", "", Topic::program, Effect::reads, "Show the version", "fastgpu version",
               make_version_command, "", true},
    CliCommand{"__complete", "", Topic::program, Effect::reads, "", "", make_complete_command, "",
               true},
    CliCommand{"__man", "", Topic::program, Effect::reads, "", "", make_man_command, "", true},
};

}  // namespace

std::span<const CliCommand> commands() {
  return kCommands;
}

bool is_run_job(const CliCommand& command) {
  return command.describe == make_run_job_command;
}

}  // namespace fastgpu::cli
