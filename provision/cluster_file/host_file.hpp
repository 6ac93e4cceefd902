// Host files of other launchers: the hosts of a static cluster as Open MPI, MPICH or DeepSpeed list
// them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "provision/cluster_file/cluster_file.hpp"

namespace fastgpu::provision {

/// Reads one host per line: "n1", "n1 slots=4", "n1:4", "user@n[01-04] port=2222", "[fd00::1]
/// username=ann". A comment begins with '#'. Each host starts with the values of `defaults`. The
/// slots of a host that is listed several times are added. Throws ErrorKind::usage, with the line,
/// for anything else, and for a file without a host. `source` names the file in errors.
std::vector<HostEntry> read_host_file(std::string_view text, const std::string& source,
                                      const HostEntry& defaults = {});

/// Returns true for a text that lists hosts in this form. Returns false for a cluster file, which
/// has fields, and for binary data.
bool is_host_file(std::string_view text);

}  // namespace fastgpu::provision
