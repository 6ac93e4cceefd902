// Names that machines bear: of clusters and their nodes, and what a machine itself is called then.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu {

/// Checks the name of a cluster or a host from outside: 1 to 40 letters, digits, '.' and '-'. It
/// begins with a letter, and each part between dots begins and ends with a letter or a digit.
/// Throws ErrorKind::usage with the value met; `what` is the noun, such as "cluster name".
void check_dotted_name(std::string_view what, std::string_view value);

/// Checks a node's name: a name as above, or one with "-<index>" behind it.
void check_node_name(std::string_view value);

/// Returns the name as a host name of one label: "lab-gpu01-0" of "Lab.gpu01-0". Host names know no
/// case, and a dot would begin a domain. Clusters whose names are the same in this form are
/// refused.
std::string host_form(std::string_view name);

}  // namespace fastgpu
