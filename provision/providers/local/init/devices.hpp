// The node's /dev: the harmless devices, the accelerators, terminals and memory of its own.
#pragma once

namespace fastgpu::provision::local {

class Root;

/// Mounts a new /dev in `root`, with files of this machine's /dev bound into it.
void mount_devices(const Root& root);

}  // namespace fastgpu::provision::local
