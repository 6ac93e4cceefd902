// Names that the user gives to things. Each kind has a type of its own, and is checked once, on
// input.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/strong.hpp"

namespace fastgpu {

using ClusterName = Strong<struct ClusterNameTag, std::string>;
using NodeName = Strong<struct NodeNameTag, std::string>;
using JobName = Strong<struct JobNameTag, std::string>;

/// Checks a name from outside: 1 to 40 characters of a-z, 0-9 and '-', beginning with a letter and
/// not ending in '-', so that it serves as a host name. Throws ErrorKind::usage with the value met;
/// `what` is the noun, such as "cluster name".
void check_name(std::string_view what, std::string_view value);

JobName parse_job_name(std::string_view text);

/// Returns the candidate with the least edit distance to `word`; "" if no candidate is close
/// enough.
std::string nearest_name(std::string_view word, std::span<const std::string> candidates);

/// Returns `text` in printable form for a message: control and delete bytes are escaped, and it is
/// cut to at most `most` bytes.
std::string printable(std::string_view text, std::size_t most = 60);

}  // namespace fastgpu
