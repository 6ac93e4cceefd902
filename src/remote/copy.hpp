// Copies file trees to and from hosts. Files are checked by SHA-256, and become visible only when
// the copy is complete.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "remote/agent.hpp"
#include "remote/copy_options.hpp"
#include "ssh/client.hpp"

namespace fastgpu::remote {

/// Calls transfer::key_of.
std::string key_of(const std::vector<std::filesystem::path>& sources,
                   const std::string& destination);

/// Copies files and directories to the same place on every host. Like cp -r, it copies into
/// `destination` if that is a directory, and to that name otherwise. "" and relative paths start at
/// the home directory. Keeps modes (without set-ID bits), times and symbolic links. If a copy
/// fails, nothing of it is visible on that host. Errors of a host: not_found for a missing source
/// or directory, conflict if a file and a directory would replace each other, denied, capacity,
/// remote for content that was changed on the way (naming the file), and those of Client::run.
/// Throws if the sources have a problem; they are checked before anything is sent.
std::vector<HostResult<Copied>> copy_to(ssh::Client& client, std::span<const ssh::Host> hosts,
                                        const std::vector<std::filesystem::path>& sources,
                                        const std::string& destination, const AgentProgram& agent,
                                        const CopyOptions& options, CopyProgress* progress,
                                        const Cancel& cancel);

/// Checks what copy_to() would do, without copying: examines the sources, and on each host the
/// destination, its rights and its free space. Errors as for copy_to().
std::vector<HostResult<Copied>> try_copy_to(ssh::Client& client, std::span<const ssh::Host> hosts,
                                            const std::vector<std::filesystem::path>& sources,
                                            const std::string& destination,
                                            const AgentProgram& agent, const CopyOptions& options,
                                            const Cancel& cancel);

/// Checks what copy_from() would do, without copying: examines the sources on each host and the
/// destination here. Errors as for copy_from().
std::vector<HostResult<Copied>> try_copy_from(ssh::Client& client, std::span<const ssh::Host> hosts,
                                              const std::vector<std::string>& sources,
                                              const std::filesystem::path& destination,
                                              const AgentProgram& agent, const CopyOptions& options,
                                              const Cancel& cancel);

/// Copies from hosts. One host's files are copied with the rules of cp -r; those of several hosts
/// go into destination/HOST, which is created if it is missing. Throws if the destination here has
/// a problem.
std::vector<HostResult<Copied>> copy_from(ssh::Client& client, std::span<const ssh::Host> hosts,
                                          const std::vector<std::string>& sources,
                                          const std::filesystem::path& destination,
                                          const AgentProgram& agent, const CopyOptions& options,
                                          CopyProgress* progress, const Cancel& cancel);

}  // namespace fastgpu::remote
