// File trees to and from hosts, checked by SHA-256, visible only when complete.
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
  /// Reports that `bytes` of content have gone to, or come from, the host with this index in the
  /// list. May begin again at 0 if the agent had to be installed first.
  virtual void moved(std::size_t host, std::uint64_t bytes) = 0;
};

struct CopyOptions {
  int width = 64;
  std::optional<std::chrono::milliseconds> connect_timeout{};
  /// The longest time in which a host neither takes nor sends anything.
  std::chrono::milliseconds silence{60'000};
  std::chrono::milliseconds timeout{0};  ///< The limit for each host; 0: unlimited.
  std::optional<BitRate> rate{};         ///< The limit of all traffic of this machine in the copy.
  /// The copy's name (key_of) if hosts should keep an interrupted copy and resume from there;
  /// empty: they keep nothing.
  std::string key{};
  transfer::LeftOut left_out{};  ///< Left out of copies to hosts; null: everything is copied.
};

/// Calls transfer::key_of.
std::string key_of(const std::vector<std::filesystem::path>& sources,
                   const std::string& destination);

/// Returns the options for Client::run.
ssh::RunOptions run_options(const CopyOptions& options);

struct Copied {
  std::uint64_t bytes = 0;
  /// The files that were gone when their turn came. All others are there.
  std::vector<std::string> vanished{};
  bool passed_on = false;  ///< Sent by another host, and not from here.
};

/// Returns a host's failure in the form for its user: "no space left on train-1: writing x: ...".
Error named_failure(ErrorKind kind, const NodeName& host, const std::string& text);

/// Calls transfer::check_readable.
void check_readable(const std::vector<std::filesystem::path>& sources,
                    const transfer::LeftOut& left_out = {});

/// Copies files and directories to the same place on every host. As with cp -r, that is into
/// `destination` if it is a directory, under its name otherwise. "" and relative paths begin at the
/// home directory. Modes (without set-ID bits), times and symbolic links are kept. If a copy fails,
/// nothing of it is visible on that host. Errors: not_found for a missing source or directory,
/// conflict if file and directory would replace each other, denied, capacity; remote for content
/// that arrived changed (naming the file); and as Client::run. The sources are checked before
/// anything is sent. Throws if they have a problem then or later.
std::vector<HostResult<Copied>> copy_to(ssh::Client& client, std::span<const ssh::Host> hosts,
                                        const std::vector<std::filesystem::path>& sources,
                                        const std::string& destination, const AgentProgram& agent,
                                        const CopyOptions& options, CopyProgress* progress,
                                        const Cancel& cancel);

/// Checks what copy_to would do, and copies nothing: looks at the sources, and on each host at the
/// destination, its rights and its free space. Errors as copy_to.
std::vector<HostResult<Copied>> try_copy_to(ssh::Client& client, std::span<const ssh::Host> hosts,
                                            const std::vector<std::filesystem::path>& sources,
                                            const std::string& destination,
                                            const AgentProgram& agent, const CopyOptions& options,
                                            const Cancel& cancel);

/// Checks what copy_from would do, and copies nothing: looks at the sources on each host and at the
/// destination here. Errors as copy_from.
std::vector<HostResult<Copied>> try_copy_from(ssh::Client& client, std::span<const ssh::Host> hosts,
                                              const std::vector<std::string>& sources,
                                              const std::filesystem::path& destination,
                                              const AgentProgram& agent, const CopyOptions& options,
                                              const Cancel& cancel);

/// Copies from hosts: from one host with the rules of cp -r, from several into destination/HOST for
/// each, making the directories as needed. Throws if the destination here has a problem.
std::vector<HostResult<Copied>> copy_from(ssh::Client& client, std::span<const ssh::Host> hosts,
                                          const std::vector<std::string>& sources,
                                          const std::filesystem::path& destination,
                                          const AgentProgram& agent, const CopyOptions& options,
                                          CopyProgress* progress, const Cancel& cancel);

}  // namespace fastgpu::remote
