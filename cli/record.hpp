// The record of a cluster in a cloud, kept on its head node for whoever attaches to it.
#pragma once

#include "cli/context.hpp"
#include "launcher/head_node.hpp"

namespace fastgpu::cli {

/// The head node's record and the tag by which it is known again, brought in line with what is on
/// record here. Nothing for a cluster that is in no cloud, or has no head node that runs; nothing
/// that has not changed is written. A failure is a warning that says so: what the command was for
/// is done by then.
void publish_record(Context& context, const ClusterName& name);

/// The same; throws.
void write_record(Context& context, const state::Cluster& cluster, launcher::HeadNode& head);

/// Whether the cluster's record was ever written from here: else nobody elsewhere knows of it.
bool is_published(Context& context, const state::ClusterId& cluster);

}  // namespace fastgpu::cli
