// The record of a cluster in a cloud. The head node keeps it for other state directories.
#pragma once

#include "cli/workflows/services.hpp"
#include "launcher/head_node.hpp"

namespace fastgpu::cli {

/// Writes the local record to the head node, and its host key's fingerprint to the machine's tag.
/// Does nothing if nothing has changed, for clusters outside clouds, and without a running head
/// node. A failure is only a warning, because the command has done its work already.
void publish_record(Services& services, const ClusterName& name);

/// Writes the record as above. Throws if that fails.
void write_record(Services& services, const state::Cluster& cluster, launcher::HeadNode& head);

/// Returns true if this state directory has published the cluster's record. Without a record, other
/// state directories cannot know of the cluster.
bool is_published(Services& services, const state::ClusterId& cluster);

}  // namespace fastgpu::cli
