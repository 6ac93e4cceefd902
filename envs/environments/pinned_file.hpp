// Files of the network that are known by their hash: wheels that fastgpu itself uses, a Python's
// archive.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "base/cancel.hpp"
#include "http/client.hpp"

namespace fastgpu::envs {

struct PinnedFile {
  std::string_view machine{};  ///< "x86_64"; empty: any.
  std::string_view url;
  std::string_view sha256;
};

/// Throws ErrorKind::usage, naming the processor, where none is for it.
const PinnedFile& pinned_for(std::string_view machine, std::span<const PinnedFile> wheels,
                             std::string_view what);

/// The file's bytes, wherever its address sends us. Throws as http::Client, and remote for another
/// answer than that file; `hint` says what to do then. Where `silence` is given, so long nothing
/// may come.
std::string fetch_pinned(const PinnedFile& file, std::string_view hint, http::Client& http,
                         const Cancel& cancel, std::chrono::seconds silence = {});

}  // namespace fastgpu::envs
