// The first process of a world: the namespaces that all nodes of one ordinary user are made in.
#pragma once

#include <string>

namespace fastgpu::provision::local {

/// Makes the namespaces, asks for ids (`kUnmapped`, and a byte on standard input once they are
/// set), and returns when the world's first process has answered. That one hands out sockets at the
/// door in `folder`, and ends, with everything in the world, when nobody has a socket of it in hand
/// and no node lives.
int hold_world(const std::string& folder);

}  // namespace fastgpu::provision::local
