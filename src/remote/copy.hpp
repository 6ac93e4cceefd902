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

/// Told how far a copy is.
class CopyProgress {
 public:
  virtual ~CopyProgress() = default;
  /// `bytes` of content have gone to, or come from, the host with this index in the list. May begin
  /// again at 0 where the agent had to be put there first.
  virtual void moved(std::size_t host, std::uint64_t bytes) = 0;
};

struct CopyOptions {
  int width = 64;
  std::optional<std::chrono::milliseconds> connect_timeout{};
  /// The longest time in which a host neither takes nor gives anything.
  std::chrono::milliseconds silence{60'000};
  std::chrono::milliseconds timeout{0};  ///< For each host; 0 is without end.
  std::optional<BitRate> rate{};         ///< Of all that leaves or comes in here, at most.
  /// Names the copy (key_of) where hosts are to keep what has come when it is cut off, and to go on
  /// from there; empty: they keep nothing.
  std::string key{};
  transfer::LeftOut left_out{};  ///< Of what goes to hosts from here; empty: all of it goes.
};

/// See transfer::key_of.
std::string key_of(const std::vector<std::filesystem::path>& sources,
                   const std::string& destination);

/// How Client::run is told of them.
ssh::RunOptions run_options(const CopyOptions& options);

struct Copied {
  std::uint64_t bytes = 0;
  /// Files that were gone when their turn came. All others are there.
  std::vector<std::string> vanished{};
  bool passed_on = false;  ///< Over other hosts, and not from here.
};

/// Returns what went wrong on a host as its user reads it: "no space left on train-1: writing x:
/// ...".
Error named_failure(ErrorKind kind, const NodeName& host, const std::string& text);

/// See transfer::check_readable.
void check_readable(const std::vector<std::filesystem::path>& sources,
                    const transfer::LeftOut& left_out = {});

/// Copies files and directories to the same place on every host, as cp -r would: into `destination`
/// where that is a directory, under its name otherwise. "" and relative paths begin at the home
/// directory. Modes (without set-ID bits), times and symbolic links are kept. Where a copy fails,
/// nothing of it is visible on that host. Errors: not_found for a missing source or directory,
/// conflict where file and directory would replace each other, denied, capacity, remote for content
/// that arrived changed (naming the file); and as Client::run. Throws what is wrong with the
/// sources, which are looked at before anything is sent, and what goes wrong with them later.
std::vector<HostResult<Copied>> copy_to(ssh::Client& client, std::span<const ssh::Host> hosts,
                                        const std::vector<std::filesystem::path>& sources,
                                        const std::string& destination, const AgentProgram& agent,
                                        const CopyOptions& options, CopyProgress* progress,
                                        const Cancel& cancel);

/// Tries what copy_to would do, and copies nothing: looks at the sources, and on each host at the
/// destination, its rights and its free space. Errors as copy_to.
std::vector<HostResult<Copied>> try_copy_to(ssh::Client& client, std::span<const ssh::Host> hosts,
                                            const std::vector<std::filesystem::path>& sources,
                                            const std::string& destination,
                                            const AgentProgram& agent, const CopyOptions& options,
                                            const Cancel& cancel);

/// Tries what copy_from would do, and copies nothing: looks at the sources on each host and at the
/// destination here. Errors as copy_from.
std::vector<HostResult<Copied>> try_copy_from(ssh::Client& client, std::span<const ssh::Host> hosts,
                                              const std::vector<std::string>& sources,
                                              const std::filesystem::path& destination,
                                              const AgentProgram& agent, const CopyOptions& options,
                                              const Cancel& cancel);

/// The other way: from one host as cp -r would, from several into destination/HOST for each, where
/// the directories are made as needed. Throws what is wrong with the destination here.
std::vector<HostResult<Copied>> copy_from(ssh::Client& client, std::span<const ssh::Host> hosts,
                                          const std::vector<std::string>& sources,
                                          const std::filesystem::path& destination,
                                          const AgentProgram& agent, const CopyOptions& options,
                                          CopyProgress* progress, const Cancel& cancel);

}  // namespace fastgpu::remote
