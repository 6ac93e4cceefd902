// A build that goes to other nodes while it is made: `relay`, told what is done.
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

/// Destruction cuts the copy off where it was not finished: the nodes keep what they got, for the
/// one that goes on.
class EarlyCopy {
 public:
  /// `way`: what `relay` is told of it; empty: there is nobody to copy to.
  EarlyCopy(std::filesystem::path version, std::vector<std::string> way);

  /// By the thread that will finish it, once the directory of the build is there; again does
  /// nothing.
  void start();

  /// These paths below the build are done, and will not change. Thread-safe.
  void offer(std::span<const std::string> paths);

  /// Of the files that have been sent by now, by their path below the build.
  KnownSums sums() const;

  /// All of the build is done. Waits until the nodes have it; returns those that do, by their place
  /// in the chain. Throws interrupted where the listener has gone.
  std::vector<std::size_t> finish(Listener& listener);

  /// Nothing came of the build: the nodes keep nothing.
  void give_up();

 private:
  void say(BuildWord word);
  void hear(const UniqueFd& relay);
  bool is_over() const;

  std::filesystem::path version_;
  std::vector<std::string> way_;
  std::mutex ordering_;
  mutable std::mutex hearing_;
  std::string heard_;     // From the relay.
  bool is_over_ = false;  // It has nothing more to say.
  std::jthread hearer_;   // Ends where the relay has ended, which is destroyed first.
  std::optional<process::Child> relay_;
};

}  // namespace fastgpu::agent
