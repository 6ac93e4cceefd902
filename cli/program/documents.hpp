// The documents that the commands show under -o json.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace fastgpu::cli {

struct DocumentsOf {
  std::string_view command;  ///< Equal to CliCommand::words().
  std::array<std::string_view, 3> kinds_or_empty{};

  /// Returns the kinds that the command may show. The kind "clusters" has the schema
  /// "fastgpu.clusters/1". Every command may also show "done" (if it has no other document),
  /// "dry-run" and "error".
  std::span<const std::string_view> kinds() const noexcept {
    const auto* const end = std::ranges::find(kinds_or_empty, std::string_view());
    return {kinds_or_empty.begin(), end};
  }
};

/// Returns one entry for each command.
std::span<const DocumentsOf> all_documents();

/// Returns true if `kind` is well-formed: words of a-z and 0-9 with '-' between them.
bool is_document_kind(std::string_view kind) noexcept;

}  // namespace fastgpu::cli
