// What an image of a node must not have, hidden in the node's memory while the image is made. The
// node goes on seeing it where it was, and in service.
#pragma once

#include <string>

#include "launcher/fan_out.hpp"
#include "state/model.hpp"

namespace fastgpu::cli {

/// What one wants to know before.
struct BakeSight {
  std::string mount{};     ///< What disk the environment lies on: "/", where that is the system's.
  std::string driver{};    ///< NVIDIA's, by its version; empty: none is loaded.
  std::string at_work{};   ///< A process of a job; empty: none.
  bool is_hidden = false;  ///< A run that died has left it so.
};

std::string look_before_baking(const state::Node& node, const std::string& prefix);
/// Throws what became of it otherwise.
BakeSight bake_sight_in(const launcher::NodeAnswer& answer);

/// Copies keys, what fastgpu keeps there, cloud-init's state and the machine's identity to memory,
/// puts the copies over their places, and overwrites what is beneath. May be repeated.
std::string hide_secrets_command(const state::Node& node);

/// Writes back what lies in memory, and takes it from there. May be repeated; nothing where nothing
/// is hidden.
std::string restore_secrets_command(const state::Node& node);

}  // namespace fastgpu::cli
