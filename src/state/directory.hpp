// The state directory and the paths in it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "state/model.hpp"

namespace fastgpu::state {

/// Returns the value of an environment variable; absent if it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;

/// Returns the environment of this process.
Environment process_environment();

/// Returns the path of the state directory: $FASTGPU_STATE_DIR, else $XDG_STATE_HOME/fastgpu, else
/// ~/.local/state/fastgpu. Empty and relative values of the XDG variables count as unset. Throws
/// ErrorKind::local if no variable is set.
std::filesystem::path choose_directory(const Environment& environment);

/// Creates `path` and its parents, with mode 0700 for new ones. Does nothing if it exists. Throws
/// ErrorKind::denied or capacity with the path.
void make_private_directory(const std::filesystem::path& path);

/// Returns the error for a write to a state directory that is read-only.
Error read_only_directory(const std::filesystem::path& directory);

/// Returns the error of a call on a file of the state directory, as system_error() does. If the
/// file belongs to another account, as after a command with sudo, the error says so, with a remedy.
Error state_file_error(const std::string& doing, const std::filesystem::path& file, int error);

/// Returns the directory for a cluster's files: `directory`/clusters/<id>. Does not create it.
/// Throws ErrorKind::remote for an id that is not a valid name of a directory, because it may come
/// from a cloud's tag.
std::filesystem::path cluster_directory(const std::filesystem::path& directory,
                                        const ClusterId& cluster);

/// Returns the path of the private key for the cluster's nodes.
std::filesystem::path identity_file(const std::filesystem::path& directory,
                                    const ClusterId& cluster);

/// Writes a file with mode 0600. Afterwards it is either complete and on disk, or absent.
void write_private_file(const std::filesystem::path& path, const std::string& text);

}  // namespace fastgpu::state
