// The jobs that run on a node, and what they hold there. Pure.
#pragma once

#include <span>
#include <vector>

#include "cli/ui/view.hpp"
#include "launcher/held_parts.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

/// A job with ranks on a node.
struct NodeJob {
  int processes = 0;            ///< The number of ranks there, or of workers of torchrun.
  launcher::HeldParts parts{};  ///< Empty for a job without --per.
  launcher::Sharing sharing = launcher::Sharing::exclusive;
};

/// Returns the jobs among `jobs` that run on a node of their cluster, or are about to. Leaves out
/// those whose nodes a scheduler chooses, and those with a damaged record.
std::vector<NodeJob> jobs_on(const state::Node& node, std::span<const state::Job> jobs);

/// Returns them for a document: "job", "ranks", "shared", "cpus" and "gpus" of each.
Json node_jobs_document(std::span<const NodeJob> jobs);

/// Returns them as a table for people.
Json node_jobs_table(std::span<const NodeJob> jobs);

}  // namespace fastgpu::cli
