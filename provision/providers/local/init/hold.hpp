// The first process of a world: the namespaces of all nodes of one ordinary user.
#pragma once

#include <string>

namespace fastgpu::provision::local {

/// Makes the namespaces, requests ids (`kUnmapped`, and a byte on standard input once they are
/// set), and returns when the world's first process has answered. That process hands out sockets at
/// the broker in `folder`. It ends, with everything in the world, when no process has a socket of
/// it and no node lives.
int hold_world(const std::string& folder);

}  // namespace fastgpu::provision::local
