// The directory of fastgpu's state, and the paths inside.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "state/model.hpp"

namespace fastgpu::state {

/// Returns the value of an environment variable; absent if it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;

/// Returns the environment of this process.
Environment process_environment();

/// Returns $FASTGPU_STATE_DIR, or $XDG_STATE_HOME/fastgpu, or ~/.local/state/fastgpu. Empty and
/// relative values of the XDG variables count as unset. Throws ErrorKind::local if no variable is
/// set.
std::filesystem::path choose_directory(const Environment& environment);

/// Makes `path` with its parents, new ones with mode 0700; succeeds if it exists. Throws
/// ErrorKind::denied or capacity with the path.
void make_private_directory(const std::filesystem::path& path);

/// Returns a cluster's own place for files: `directory`/clusters/<id>. This call does not make it.
/// Throws ErrorKind::remote for an identity that cannot name a directory: it may come from a
/// cloud's tag.
std::filesystem::path cluster_directory(const std::filesystem::path& directory,
                                        const ClusterId& cluster);

/// Returns the path of the private key for the cluster's nodes.
std::filesystem::path identity_file(const std::filesystem::path& directory,
                                    const ClusterId& cluster);

/// Writes a file of mode 0600 so that it is either complete and on disk, or absent.
void write_private_file(const std::filesystem::path& path, const std::string& text);

/// Returns the file's text; absent if the file does not exist.
std::optional<std::string> read_file(const std::filesystem::path& path);

}  // namespace fastgpu::state
