// Names of clusters, nodes and hosts, and the host names that machines get.
#pragma once

#include <string>
#include <string_view>

#include "base/names.hpp"

namespace fastgpu {

/// Checks the name of a cluster or a host from outside: 1 to 40 letters, digits, '.' and '-'. It
/// begins with a letter, and each part between dots begins and ends with a letter or a digit.
/// Throws ErrorKind::usage with the value met; `what` is the noun, such as "cluster name".
void check_dotted_name(std::string_view what, std::string_view value);

/// Checks by check_dotted_name().
ClusterName parse_cluster_name(std::string_view text);

/// Checks a node's name: a name as above, or such a name followed by "-<index>".
void check_node_name(std::string_view value);

/// Returns the name in the form of a host name with one label: "lab-gpu01-0" for "Lab.gpu01-0".
/// Host names ignore case, and a dot would begin a domain. Clusters whose names are equal in this
/// form are refused.
std::string host_form(std::string_view name);

}  // namespace fastgpu
