// Which documents the commands show under -o json.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::cli {

struct DocumentsOf {
  std::string_view command;  ///< As Command::words() has it.
  /// The kinds that it may show: "clusters" is schema "fastgpu.clusters/1". Beside them every
  /// command may show "done", if it has nothing to show, and "error".
  std::vector<std::string_view> kinds;
};

/// One entry for each command.
std::span<const DocumentsOf> all_documents();

/// Returns true for a kind as all are written: words of a-z and 0-9 with '-' between them.
bool is_document_kind(std::string_view kind) noexcept;

}  // namespace fastgpu::cli
