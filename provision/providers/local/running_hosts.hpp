// The cluster's part of /etc/hosts on running nodes.
#pragma once

#include <sys/types.h>

#include <string>

namespace fastgpu::provision::local {

/// Replaces the cluster's lines in /etc/hosts of the node whose first process is `pid`, from
/// outside and without following any link out of the node's tree. Does nothing if the text is the
/// same already, or if the node has no /etc or no tree of its own yet.
void update_hosts_of(pid_t pid, const std::string& block);

}  // namespace fastgpu::provision::local
