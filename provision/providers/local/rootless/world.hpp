// The namespaces in which an ordinary user is root, and in which all nodes of that user live.
#pragma once

#include <filesystem>
#include <optional>

#include "base/unique_fd.hpp"

namespace fastgpu::provision::local {

/// Returns the folder of a state directory's world: its lock and its broker
/// (base/socket_broker.hpp), through which the nodes are reached from outside.
std::filesystem::path world_folder(const std::filesystem::path& state_directory);
std::filesystem::path world_socket_broker(const std::filesystem::path& folder);

/// A hold on a world. The world ends by itself with the last hold and the last node, and its first
/// process ends everything else that runs there.
class RootlessWorld {
 public:
  /// Returns the existing world, if any.
  static std::optional<RootlessWorld> find(const std::filesystem::path& folder);

  /// Returns the existing world or a new one. Throws if this machine cannot carry it, in the words
  /// of prerequisites.hpp if they give the reason.
  static RootlessWorld open(const std::filesystem::path& folder,
                            const std::filesystem::path& init_program);

  /// Returns when it is decided whether the world goes on.
  ~RootlessWorld();
  RootlessWorld(RootlessWorld&&) noexcept = default;
  RootlessWorld& operator=(RootlessWorld&&) noexcept = default;

  /// Returns a descriptor of the world's first process.
  const UniqueFd& process() const noexcept { return process_; }

 private:
  RootlessWorld(UniqueFd connection, UniqueFd process)
      : connection_(std::move(connection)), process_(std::move(process)) {}

  UniqueFd connection_;
  UniqueFd process_;
};

}  // namespace fastgpu::provision::local
