// RECORD of an installed wheel: which files it has (packaging.python.org, "Recording installed
// projects").
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transfer/sha256.hpp"

namespace fastgpu::agent {

struct RecordedFile {
  std::string path;  ///< Relative to where packages lie, "../../../bin/f2py".
  std::string hash;  ///< "sha256=" and the sum in URL-safe base64; empty where it has none.
  std::string size;  ///< In bytes; likewise.
};

/// Absent for what is no RECORD, and where names need quotes.
std::optional<std::vector<RecordedFile>> parse_wheel_record(std::string_view text);
std::string to_text(const std::vector<RecordedFile>& files);

/// As RECORD has it.
std::string wheel_hash(const transfer::Digest& sum);

}  // namespace fastgpu::agent
