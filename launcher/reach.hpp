// A check that the nodes of a job reach each other: the requests to each node, and the evaluation
// of the answers. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "agent/protocol/facts.hpp"
#include "launcher/job_files_request.hpp"

namespace fastgpu::launcher {

/// Returns the words behind `reach-nodes` for the node at that place of the job. Each node asks
/// those behind it, the last ones the first, up to 32 of them. The first node, which starts the
/// others by ssh, also tries the sshd of those that it reaches at an address of another machine.
/// Empty if there is nothing to ask.
std::vector<std::string> reach_words(const JobFilesRequest& request,
                                     std::span<const agent::JobNodeFacts> facts, std::size_t place);

/// The words behind `reach-nodes` for the node at `place`.
struct ReachRequest {
  std::size_t place = 0;
  std::vector<std::string> words{};
};

/// Returns the requests to the nodes that have something to ask, in their order.
std::vector<ReachRequest> reach_requests(const JobFilesRequest& request,
                                         std::span<const agent::JobNodeFacts> facts);

/// The answer of one node.
struct ReachAnswer {
  std::size_t place = 0;
  std::string text{};
};

/// Throws ErrorKind::remote with the names of the first two nodes that cannot reach each other.
void check_reach(const JobFilesRequest& request, std::span<const agent::JobNodeFacts> facts,
                 std::span<const ReachAnswer> answers);

/// Returns the nodes' own addresses in the network that joins them, in order; empty if it is
/// unknown.
std::vector<std::string> joining_addresses(const JobFilesRequest& request,
                                           std::span<const agent::JobNodeFacts> facts);

}  // namespace fastgpu::launcher
