// Every command of the table: each describes its arguments and returns its action.
#pragma once

#include "cli/program/command.hpp"

namespace fastgpu::cli {

Action describe_addip(Arguments& arguments);
Action describe_mount(Arguments& arguments);
Action describe_create_cluster(Arguments& arguments);
Action describe_delete_cluster(Arguments& arguments);
Action describe_start_cluster(Arguments& arguments);
Action describe_stop_cluster(Arguments& arguments);
Action describe_rename_cluster(Arguments& arguments);
Action describe_scale_cluster(Arguments& arguments);
Action describe_guard_cluster(Arguments& arguments);
Action describe_why_awake(Arguments& arguments);
Action describe_env_bake(Arguments& arguments);
Action describe_delete_image(Arguments& arguments);
Action describe_delete_job(Arguments& arguments);
Action describe_gc(Arguments& arguments);
Action describe_exec(Arguments& arguments);
Action describe_run_job(Arguments& arguments);
Action describe_bench_comm(Arguments& arguments);
Action describe_wait_job(Arguments& arguments);
Action describe_attach_cluster(Arguments& arguments);
Action describe_attach_job(Arguments& arguments);
Action describe_cancel_job(Arguments& arguments);
Action describe_logs(Arguments& arguments);
Action describe_ssh(Arguments& arguments);
Action describe_tmux(Arguments& arguments);
Action describe_cp(Arguments& arguments);
Action describe_get_clusters(Arguments& arguments);
Action describe_get_nodes(Arguments& arguments);
Action describe_get_jobs(Arguments& arguments);
Action describe_get_providers(Arguments& arguments);
Action describe_get_instance_types(Arguments& arguments);
Action describe_get_prices(Arguments& arguments);
Action describe_get_zones(Arguments& arguments);
Action describe_get_images(Arguments& arguments);
Action describe_get_quotas(Arguments& arguments);
Action describe_describe_cluster(Arguments& arguments);
Action describe_describe_node(Arguments& arguments);
Action describe_describe_job(Arguments& arguments);
Action describe_env_create(Arguments& arguments);
Action describe_env_demo(Arguments& arguments);
Action describe_env_list(Arguments& arguments);
Action describe_env_activate(Arguments& arguments);
Action describe_env_verify(Arguments& arguments);
Action describe_env_remove(Arguments& arguments);
Action describe_env_frameworks(Arguments& arguments);
Action describe_env_pack(Arguments& arguments);
Action describe_env_unpack(Arguments& arguments);
Action describe_env_lock(Arguments& arguments);
Action describe_env_diff(Arguments& arguments);
Action describe_env_matrix(Arguments& arguments);
Action describe_env_install_driver(Arguments& arguments);
Action describe_init(Arguments& arguments);
Action describe_completion(Arguments& arguments);
Action describe_complete(Arguments& arguments);
Action describe_man(Arguments& arguments);
Action describe_version(Arguments& arguments);
Action describe_doctor(Arguments& arguments);

}  // namespace fastgpu::cli
