// The networks of a job's nodes: whether their RDMA devices can carry messages. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "agent/protocol/facts.hpp"
#include "launcher/job_files_request.hpp"

namespace fastgpu::launcher {

/// The begin of the error of a job that requires a fabric and lacks it.
constexpr std::string_view kFabricIsRequired = "FASTGPU_COMM_REQUIRE is 'fabric'";

/// Returns in one sentence why the RDMA device of a node will not carry messages to other nodes of
/// the job, and the remedy. Empty if there is no such device or no reason, and for a job that is on
/// one node or has chosen another network (FASTGPU_COMM_TRANSPORT, FASTGPU_COMM_FABRIC). Throws
/// ErrorKind::capacity with the reason if the job requires a fabric (FASTGPU_COMM_REQUIRE) or names
/// a provider for such devices, and ErrorKind::usage for a requirement that contradicts the choice.
std::string check_fabric(const JobFilesRequest& request,
                         std::span<const agent::JobNodeFacts> facts);

}  // namespace fastgpu::launcher
