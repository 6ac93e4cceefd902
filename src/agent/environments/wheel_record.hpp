// The file RECORD of an installed wheel, which lists its files (packaging.python.org, "Recording
// installed projects").
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "transfer/sha256.hpp"

namespace fastgpu::agent {

struct RecordedFile {
  std::string path;  ///< Relative to the packages' directory: "../../../bin/f2py".
  std::string hash;  ///< "sha256=" and the checksum in URL-safe base64; may be empty.
  std::string size;  ///< The size in bytes; may be empty.
};

/// Parses a RECORD. Absent for malformed text, and for names that need quotes.
std::optional<std::vector<RecordedFile>> parse_wheel_record(std::string_view text);
std::string to_text(const std::vector<RecordedFile>& files);

/// Returns a checksum in the form of RECORD.
std::string wheel_hash(const transfer::Digest& sum);

}  // namespace fastgpu::agent
