// Copies file trees to and from hosts. Files are checked by SHA-256, and become visible only when
// the copy is complete.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "remote/agent.hpp"
#include "ssh/client.hpp"
#include "transfer/tree_sender.hpp"

namespace fastgpu::remote {

/// Receives the progress of a copy.
class CopyProgress {
 public:
  virtual ~CopyProgress() = default;
  /// Reports that `bytes` of content have been copied to or from the host with this index. May
  /// start at 0 again if the agent had to be installed first.
  virtual void moved(std::size_t host, std::uint64_t bytes) = 0;
};

struct CopyOptions {
  int width = 64;
  std::optional<std::chrono::milliseconds> connect_timeout{};
  /// A host that neither takes nor sends data for this long has failed.
  std::chrono::milliseconds silence{60'000};
  std::chrono::milliseconds timeout{0};  ///< The limit for each host; 0 for no limit.
  std::optional<BitRate> rate{};         ///< The limit for all traffic of this machine in the copy.
  /// The copy's name (key_of()) if the hosts should keep an interrupted copy and resume it; empty
  /// if they should keep nothing.
  std::string key{};
  /// Excludes entries from copies to hosts; null if everything is copied.
  transfer::LeftOut left_out{};
};

/// Calls transfer::key_of.
std::string key_of(const std::vector<std::filesystem::path>& sources,
                   const std::string& destination);

/// Returns the options for Client::run.
ssh::RunOptions run_options(const CopyOptions& options);

struct Copied {
  std::uint64_t bytes = 0;
  /// The files that disappeared before they could be copied. All others are there.
  std::vector<std::string> vanished{};
  bool passed_on = false;  ///< True if another host sent the copy.
};

/// Returns a host's failure as the user sees it: "no space left on train-1: writing x: ...".
Error named_failure(ErrorKind kind, const NodeName& host, const std::string& text);

/// Calls transfer::check_readable.
void check_readable(const std::vector<std::filesystem::path>& sources,
                    const transfer::LeftOut& left_out = {});

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
