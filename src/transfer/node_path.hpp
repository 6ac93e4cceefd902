// Paths on a node, as users write them: absolute, or relative to a home directory ("x", "~/x",
// "~").
#pragma once

#include <filesystem>
#include <string>

#include "base/strong.hpp"

namespace fastgpu::transfer {

/// A path on the nodes that parse_node_path() has accepted.
using NodePath = Strong<struct NodePathTag, std::string>;

/// Returns a path that a user has written. Nodes expand "~" and "~/x" alone: throws
/// ErrorKind::usage for "~ann/x", for a directory or file named like a variable ("$HOME/x"), for an
/// empty path and for one with a NUL byte.
NodePath parse_node_path(const std::string& text);

/// Returns true for "~" and "~/x".
bool is_below_home(const NodePath& path);

/// Returns `path` if it is absolute or starts at the home directory by "~", else base/path.
NodePath node_path_in(const NodePath& base, const NodePath& path);

/// Returns "x", "~/x" and "~" as paths in $HOME, even if sshd starts elsewhere. Returns absolute
/// paths unchanged.
std::filesystem::path below_home(const std::string& path);

}  // namespace fastgpu::transfer
