// The record of a cluster in a cloud, kept on its head node for other state directories.
#pragma once

#include "cli/workflows/services.hpp"
#include "launcher/head_node.hpp"

namespace fastgpu::cli {

/// Updates the head node's record and the tag that identifies it from the local record. Does
/// nothing for a cluster outside clouds, or without a running head node; writes only changes. A
/// failure is a warning that reports this: the command's work is done by then.
void publish_record(Services& services, const ClusterName& name);

/// Writes the record; throws.
void write_record(Services& services, const state::Cluster& cluster, launcher::HeadNode& head);

/// Returns true if the cluster's record was ever written from here: else it is unknown elsewhere.
bool is_published(Services& services, const state::ClusterId& cluster);

}  // namespace fastgpu::cli
