// The options and results that all ways to copy share.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/names.hpp"
#include "base/units.hpp"
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

/// Returns the options for Client::run.
ssh::RunOptions run_options(const CopyOptions& options);

struct Copied {
  std::uint64_t bytes = 0;
  transfer::NotSent not_sent{};  ///< All other files are there.
  bool passed_on = false;        ///< True if another host sent the copy.
};

/// Returns a host's failure as the user sees it: "no space left on train-1: writing x: ...".
Error named_failure(ErrorKind kind, const NodeName& host, const std::string& text);

/// Calls transfer::keep_here: no copy to hosts contains the state directory, except for its scratch
/// directories, or the directory of local nodes. `local` may be empty.
void keep_here(const std::filesystem::path& state_directory, const std::filesystem::path& local);

/// Calls transfer::check_readable.
void check_readable(const std::vector<std::filesystem::path>& sources,
                    const transfer::LeftOut& left_out = {});

/// Returns the bytes of content in the trees. Unreadable entries count as 0.
std::uint64_t content_of(const std::vector<std::filesystem::path>& sources);

}  // namespace fastgpu::remote
