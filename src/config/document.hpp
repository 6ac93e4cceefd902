// A configuration document: from a file or standard input, with the changes of `--set`.
#pragma once

#include <filesystem>
#include <string>

#include "config/value.hpp"

namespace fastgpu::config {

/// Returns the text of a file, or of standard input for "-", without a byte order mark. Stops soon
/// after the size limit. Throws not_found if the file is missing, denied or local if it cannot be
/// read, and usage if it is empty, a directory or a device. A FIFO is read like standard input, so
/// that a shell's <(...) can be used.
std::string read_text(const std::filesystem::path& path);

/// Reads a descriptor to its end, or until soon after the size limit. `source` names it in errors.
std::string read_all(int fd, const std::string& source);

class Document {
 public:
  Document();  ///< Empty.

  /// Parses YAML. Throws ErrorKind::usage as parse_yaml() does. `source` names the text in errors.
  static Document parse(const std::string& text, const std::string& source);

  /// Reads a file, or standard input for "-". Throws as read_text(), and usage if it is too large,
  /// not YAML, or empty.
  static Document read(const std::filesystem::path& path);

  /// Parses the text that read_text() has returned for `path`. Throws as read() does.
  static Document of_file(const std::string& text, const std::filesystem::path& path);

  /// Applies one `--set`: "nodes=4", "hosts.0.port=2222". The value is read as YAML. Missing maps
  /// are created, missing list items are not. Throws usage.
  void set(const std::string& assignment);

  Value root() const { return {tree_, ""}; }

 private:
  explicit Document(TreePtr tree) : tree_(std::move(tree)) {}

  TreePtr tree_;
};

}  // namespace fastgpu::config
