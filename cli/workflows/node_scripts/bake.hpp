// The files that an image of a node must not have, hidden in the node's memory while the image is
// made. On the node they stay at their places, and in use.
#pragma once

#include <string>

#include "launcher/fan_out.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

/// The state of a node before a bake.
struct BakePrecheck {
  std::string mount{};     ///< The mount point of the environment's disk: "/" for the system's.
  std::string driver{};    ///< The version of NVIDIA's driver; empty: none is loaded.
  std::string at_work{};   ///< A process of a job; empty: none.
  bool is_hidden = false;  ///< Left hidden by a run that died.
};

std::string bake_precheck_command(const state::Node& node, const std::string& prefix);
/// Parses an answer. Throws its failure.
BakePrecheck parse_bake_precheck(const launcher::NodeAnswer& answer);

/// Returns a command that copies keys, fastgpu's files there, cloud-init's state and the machine's
/// identity to memory. It mounts the copies over their places, and overwrites the files beneath.
/// May be repeated.
std::string hide_secrets_command(const state::Node& node);

/// Returns a command that writes the files in memory back, and removes them from there. May be
/// repeated; does nothing if nothing is hidden.
std::string restore_secrets_command(const state::Node& node);

}  // namespace fastgpu::cli
