// Notes on nodes that have not answered, as commands have found them: a small file of each.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "state/model.hpp"

namespace fastgpu::state {

/// A node that has not answered since a command tried to reach it.
struct Silence {
  TimePoint since{};     ///< The first attempt without an answer.
  TimePoint tried{};     ///< The last one.
  std::string reason{};  ///< "no connection within 10s"
};

/// Returns the path of the note on a node. The cluster's directory goes with the cluster.
std::filesystem::path silence_file(const std::filesystem::path& directory, const ClusterId& cluster,
                                   const NodeName& node);

/// Returns the note; absent for a node that has answered since, and for a damaged file.
std::optional<Silence> find_silence(const std::filesystem::path& file) noexcept;

/// Notes that the node has not answered now. An earlier note keeps its `since`. Never throws: a
/// note that cannot be written is missing. Does nothing after the cluster's directory is removed.
void note_silence(const std::filesystem::path& file, const std::string& reason) noexcept;

/// Removes the note: the node has answered.
void end_silence(const std::filesystem::path& file) noexcept;

}  // namespace fastgpu::state
