// The tags in a wheel's name: the Pythons and platforms that it is for.
#pragma once

#include <string>
#include <string_view>

#include "envs/environments/lock.hpp"

namespace fastgpu::envs {

/// The Python and platform of the nodes, as a lock has them.
struct WheelPlatform {
  std::string python_version;  ///< "3.11.2"
  std::string machine;         ///< "x86_64"
  std::string libc;            ///< "glibc 2.36"; empty if unknown.
};

/// Returns why the wheel with that file name cannot be installed there: "it is for cp39 on
/// linux_aarch64"; empty if it can. Wheels of other Pythons than CPython are left to the builder.
std::string misfit_of_wheel(std::string_view file, const WheelPlatform& platform);

/// Throws ErrorKind::usage for the first wheel that a requirement of the lock's spec names by its
/// path or address, and that does not fit the lock's Python and platform: a builder takes it
/// unseen.
void check_wheels_fit(const EnvironmentLock& lock);

}  // namespace fastgpu::envs
