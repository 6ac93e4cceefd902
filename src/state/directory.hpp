// Where fastgpu keeps what it remembers, and the places inside.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "state/model.hpp"

namespace fastgpu::state {

/// Looks an environment variable up; absent where it is not set.
using Environment = std::function<std::optional<std::string>(const char* name)>;

/// The environment of this process.
Environment process_environment();

/// $FASTGPU_STATE_DIR, or $XDG_STATE_HOME/fastgpu, or ~/.local/state/fastgpu. Empty and relative
/// values of the XDG variables count as unset. Throws ErrorKind::local where none of them is set.
std::filesystem::path choose_directory(const Environment& environment);

/// Makes `path` with its parents, 0700 for what is new; fine where it exists. Throws
/// ErrorKind::denied or capacity with the path.
void make_private_directory(const std::filesystem::path& path);

/// Returns a cluster's own place for files: `directory`/clusters/<id>. Not made by this call.
/// Throws ErrorKind::remote for an identity that is no name of a directory: it may be out of a
/// cloud's tag.
std::filesystem::path cluster_directory(const std::filesystem::path& directory,
                                        const ClusterId& cluster);

/// The private key that opens the cluster's nodes.
std::filesystem::path identity_file(const std::filesystem::path& directory,
                                    const ClusterId& cluster);

/// Writes a file of mode 0600 so that it is there whole, and on disk, or not at all.
void write_private_file(const std::filesystem::path& path, const std::string& text);

/// The file's text; absent where there is no such file.
std::optional<std::string> read_file(const std::filesystem::path& path);

}  // namespace fastgpu::state
