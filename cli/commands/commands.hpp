// All commands of the table. Each function describes a command's arguments and returns its action.
#pragma once

#include "cli/program/command.hpp"

namespace fastgpu::cli {

Action make_addip_command(Arguments& arguments);
Action make_mount_command(Arguments& arguments);
Action make_create_cluster_command(Arguments& arguments);
Action make_delete_cluster_command(Arguments& arguments);
Action make_start_cluster_command(Arguments& arguments);
Action make_stop_cluster_command(Arguments& arguments);
Action make_rename_cluster_command(Arguments& arguments);
Action make_scale_cluster_command(Arguments& arguments);
Action make_guard_cluster_command(Arguments& arguments);
Action make_why_awake_command(Arguments& arguments);
Action make_check_cluster_command(Arguments& arguments);
Action make_check_net_command(Arguments& arguments);
Action make_env_bake_command(Arguments& arguments);
Action make_delete_image_command(Arguments& arguments);
Action make_delete_job_command(Arguments& arguments);
Action make_gc_command(Arguments& arguments);
Action make_exec_command(Arguments& arguments);
Action make_run_job_command(Arguments& arguments);
Action make_bench_comm_command(Arguments& arguments);
Action make_wait_job_command(Arguments& arguments);
Action make_attach_cluster_command(Arguments& arguments);
Action make_attach_job_command(Arguments& arguments);
Action make_cancel_job_command(Arguments& arguments);
Action make_logs_command(Arguments& arguments);
Action make_ssh_command(Arguments& arguments);
Action make_tmux_command(Arguments& arguments);
Action make_cp_command(Arguments& arguments);
Action make_get_clusters_command(Arguments& arguments);
Action make_get_nodes_command(Arguments& arguments);
Action make_get_jobs_command(Arguments& arguments);
Action make_get_providers_command(Arguments& arguments);
Action make_get_instance_types_command(Arguments& arguments);
Action make_get_prices_command(Arguments& arguments);
Action make_get_zones_command(Arguments& arguments);
Action make_get_images_command(Arguments& arguments);
Action make_get_quotas_command(Arguments& arguments);
Action make_describe_cluster_command(Arguments& arguments);
Action make_describe_node_command(Arguments& arguments);
Action make_describe_job_command(Arguments& arguments);
Action make_env_create_command(Arguments& arguments);
Action make_env_demo_command(Arguments& arguments);
Action make_env_list_command(Arguments& arguments);
Action make_env_activate_command(Arguments& arguments);
Action make_env_verify_command(Arguments& arguments);
Action make_env_remove_command(Arguments& arguments);
Action make_env_frameworks_command(Arguments& arguments);
Action make_env_pack_command(Arguments& arguments);
Action make_env_unpack_command(Arguments& arguments);
Action make_env_lock_command(Arguments& arguments);
Action make_env_diff_command(Arguments& arguments);
Action make_env_matrix_command(Arguments& arguments);
Action make_env_install_driver_command(Arguments& arguments);
Action make_init_command(Arguments& arguments);
Action make_schema_command(Arguments& arguments);
Action make_completion_command(Arguments& arguments);
Action make_complete_command(Arguments& arguments);
Action make_man_command(Arguments& arguments);
Action make_version_command(Arguments& arguments);
Action make_doctor_command(Arguments& arguments);

}  // namespace fastgpu::cli
