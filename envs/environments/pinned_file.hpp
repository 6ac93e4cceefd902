// Files of the network identified by their hash: wheels for fastgpu itself, a Python's archive.
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

/// Returns the file for a processor. Throws ErrorKind::usage, naming the processor, if there is
/// none.
const PinnedFile& pinned_for(std::string_view machine, std::span<const PinnedFile> wheels,
                             std::string_view what);

/// Returns the file's bytes, following redirections. Throws as http::Client, naming the file, and
/// remote for another answer than that file; `hint` is the advice in these errors. A `silence`
/// other than 0 aborts if no data arrives for this long. `authorization` is a header's value for
/// the file's own host.
std::string fetch_pinned(const PinnedFile& file, std::string_view hint, http::Client& http,
                         const Cancel& cancel, std::chrono::seconds silence = {},
                         const std::optional<Secret>& authorization = {});

/// Returns the file's bytes from `kept`, if an earlier call kept it and it still has its SHA-256;
/// else fetches it, and keeps it there. Throws as fetch_pinned.
std::string fetch_kept(const PinnedFile& file, const std::filesystem::path& kept,
                       std::string_view hint, http::Client& http, const Cancel& cancel);

}  // namespace fastgpu::envs
