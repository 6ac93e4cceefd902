// Files of the network that are known by their hash: wheels that fastgpu itself uses, a Python's
// archive.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/cancel.hpp"
#include "base/secret.hpp"
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
/// may come. `authorization` is a header's value for the file's own host.
std::string fetch_pinned(const PinnedFile& file, std::string_view hint, http::Client& http,
                         const Cancel& cancel, std::chrono::seconds silence = {},
                         const std::optional<Secret>& authorization = {});

/// The file's bytes out of `kept`, where it was kept by an earlier call and still has its SHA-256;
/// else fetched, and kept there. Throws as fetch_pinned.
std::string fetch_kept(const PinnedFile& file, const std::filesystem::path& kept,
                       std::string_view hint, http::Client& http, const Cancel& cancel);

}  // namespace fastgpu::envs
