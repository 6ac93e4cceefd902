// A configuration document: a file, standard input, and what `--set` puts over it.
#pragma once

#include <filesystem>
#include <string>

#include "config/value.hpp"

namespace fastgpu::config {

/// Returns the text of a file, or of standard input for "-"; a little more than what is too large.
/// Throws not_found if the file is missing, denied or local if it cannot be read, and usage
/// where it is empty, a directory or a device. A FIFO is read like standard input, which lets a
/// shell's <(...) be named.
std::string read_text(const std::filesystem::path& path);

/// Reads a descriptor to its end, or a little past what is too large. `source` names it in errors.
std::string read_all(int fd, const std::string& source);

class Document {
 public:
  Document();  ///< Empty.

  /// Throws ErrorKind::usage as parse_yaml does. `source` names the text in errors.
  static Document parse(const std::string& text, const std::string& source);

  /// Reads a file, or standard input for "-". Throws as read_text, and usage where it is too large,
  /// no YAML, or empty.
  static Document read(const std::filesystem::path& path);

  /// Parses what read_text returned for `path`. Throws as read.
  static Document of_file(const std::string& text, const std::filesystem::path& path);

  /// Applies one `--set`: "nodes=4", "hosts.0.port=2222". The value is read as YAML. Maps are made
  /// on the way, list items are not. Throws usage.
  void set(const std::string& assignment);

  Value root() const { return {tree_, ""}; }

 private:
  explicit Document(TreePtr tree) : tree_(std::move(tree)) {}

  TreePtr tree_;
};

}  // namespace fastgpu::config
