// Hides a node's private files while an image of the node is made: they are mounted from memory,
// and stay usable at their places.
#pragma once

#include <string>

#include "launcher/fan_out.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

/// The state of a node before a bake.
struct BakePrecheck {
  std::string mount{};     ///< The mount point of the environment's disk: "/" for the system's.
  std::string driver{};    ///< The version of NVIDIA's driver; empty if none is loaded.
  std::string at_work{};   ///< A process of a job; empty if no job runs.
  bool is_hidden = false;  ///< True if an interrupted run has left the files hidden.
};

std::string bake_precheck_command(const state::Node& node, const std::string& prefix);
/// Parses an answer. Throws the node's error.
BakePrecheck parse_bake_precheck(const launcher::NodeAnswer& answer);

/// Returns a command that copies private files to memory, mounts the copies over the originals, and
/// overwrites the originals. The files are keys, fastgpu's own files, cloud-init's state and the
/// machine's identity. The command may be repeated.
std::string hide_secrets_command(const state::Node& node);

/// Returns a command that writes the files back to the disk and removes them from memory. May be
/// repeated. Does nothing if no file is hidden.
std::string restore_secrets_command(const state::Node& node);

}  // namespace fastgpu::cli
