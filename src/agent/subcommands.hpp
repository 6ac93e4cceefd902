// The subcommands of the agent. Each takes the words after its name and returns the exit code.
#pragma once

#include <span>
#include <string>

namespace fastgpu::agent {

using Arguments = std::span<const std::string>;

int run_exec(Arguments arguments);
int run_facts(Arguments arguments);
int run_topology(Arguments arguments);
int run_reach_nodes(Arguments arguments);
int run_probe_links(Arguments arguments);
int run_put_files(Arguments arguments);
int run_relay(Arguments arguments);
int run_relay_report(Arguments arguments);
int run_job_start(Arguments arguments);
int run_launch(Arguments arguments);
int run_node_ranks(Arguments arguments);
int run_slurm_start(Arguments arguments);
int run_rank(Arguments arguments);
int run_rsh(Arguments arguments);
int run_start_daemon(Arguments arguments);
int run_await_daemon(Arguments arguments);
int run_job_follow(Arguments arguments);
int run_job_input(Arguments arguments);
int run_job_stop(Arguments arguments);
int run_job_sweep(Arguments arguments);
int run_job_remove(Arguments arguments);
int run_job_folders(Arguments arguments);
int run_job_discard(Arguments arguments);
int run_job_show(Arguments arguments);
int run_job_stacks(Arguments arguments);
int run_job_usage(Arguments arguments);
int run_job_traces(Arguments arguments);
int run_guard_set(Arguments arguments);
int run_guard_run(Arguments arguments);
int run_guard_show(Arguments arguments);
int run_access_check(Arguments arguments);
int run_access_add(Arguments arguments);
int run_access_identify(Arguments arguments);
int run_access_remove(Arguments arguments);
int run_lease_take(Arguments arguments);
int run_lease_drop(Arguments arguments);
int run_lease_own(Arguments arguments);
int run_env_status(Arguments arguments);
int run_env_python(Arguments arguments);
int run_env_reach(Arguments arguments);
int run_env_tunnel(Arguments arguments);
int run_env_solve(Arguments arguments);
int run_env_build(Arguments arguments);
int run_env_verify(Arguments arguments);
int run_env_show(Arguments arguments);
int run_env_pack(Arguments arguments);
int run_env_use(Arguments arguments);
int run_env_discard(Arguments arguments);
int run_env_activate(Arguments arguments);
int run_env_deactivate(Arguments arguments);
int run_env_remove(Arguments arguments);

}  // namespace fastgpu::agent
