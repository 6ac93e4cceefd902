// Copies a build to other nodes while it is made, by `relay`, which is informed of the progress.
#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agent/environments/environment_call.hpp"
#include "agent/environments/manifest.hpp"
#include "agent/environments/order.hpp"
#include "base/unique_fd.hpp"
#include "process/child.hpp"

namespace fastgpu::agent {

/// A copy in progress. If it is not finished, the destructor interrupts it. The nodes keep their
/// part, so that the copy can be resumed.
class EarlyCopy {
 public:
  /// `way` has the arguments of `relay`; empty for no copy.
  EarlyCopy(std::filesystem::path version, std::vector<std::string> way);

  /// Starts the copy once the directory of the build exists. A second call does nothing. Call it on
  /// the thread that will call finish().
  void start();

  /// Reports paths below the build that are finished and will not change. Thread-safe.
  void offer(std::span<const std::string> paths);

  /// Returns the checksums of the files that have been sent so far, by their paths below the build.
  KnownSums sums() const;

  /// Reports that the build is finished, and waits until the nodes have it. Returns the nodes that
  /// have it, by their positions in the chain. Throws interrupted if the client has gone.
  std::vector<std::size_t> finish(Listener& listener);

  /// Reports that the build failed: the nodes keep nothing.
  void give_up();

 private:
  void say(BuildWord word);
  void hear(const UniqueFd& relay);
  bool is_over() const;

  std::filesystem::path version_;
  std::vector<std::string> way_;
  std::mutex ordering_;
  mutable std::mutex hearing_;
  std::string heard_;     // The relay's output so far.
  bool is_over_ = false;  // The relay's output has ended.
  std::jthread hearer_;   // Ends with the relay, which is destroyed first.
  std::optional<process::Child> relay_;
};

}  // namespace fastgpu::agent
