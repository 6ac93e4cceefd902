// Copies a build to other nodes while it is made: by `relay`, which receives the progress.
#pragma once

#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agent/environments/call.hpp"
#include "agent/environments/manifest.hpp"
#include "agent/environments/order.hpp"
#include "base/unique_fd.hpp"
#include "process/child.hpp"

namespace fastgpu::agent {

/// A copy in progress. Destruction interrupts it if it is not finished: the nodes keep their part,
/// for a resumed copy.
class EarlyCopy {
 public:
  /// Takes the arguments of `relay` as `way`; empty: no copy.
  EarlyCopy(std::filesystem::path version, std::vector<std::string> way);

  /// Starts the copy once the directory of the build exists; a second call does nothing. Call it in
  /// the thread that will finish it.
  void start();

  /// Reports paths below the build that are done, and will not change. Thread-safe.
  void offer(std::span<const std::string> paths);

  /// Returns the sums of the files that have been sent by now, by their path below the build.
  KnownSums sums() const;

  /// Reports that the build is done, and waits until the nodes have it. Returns the successful
  /// ones, by their place in the chain. Throws interrupted if the client has gone.
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
  std::string heard_;     // The output of the relay.
  bool is_over_ = false;  // No more output will come.
  std::jthread hearer_;   // Ends with the relay, which is destroyed first.
  std::optional<process::Child> relay_;
};

}  // namespace fastgpu::agent
