// The output of a job's ranks as a JSON or YAML document, which is written line by line.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "cli/program/context.hpp"
#include "launcher/following.hpp"

namespace fastgpu::cli {

/// Writes {"schema": "fastgpu.logs/1", "job": ..., "lines": [{"rank", "stream", "text"}, ...]} to
/// stdout. Each line of a rank is written once it is complete. The lines of mpirun itself have the
/// rank null. If the reader of stdout is gone, requests the program's cancel.
class LogDocument final : public launcher::JobObserver {
 public:
  LogDocument(Context& context, const std::string& job);
  void output(int rank, agent::OutputStream stream, std::string_view bytes) override;
  void connection_lost(const NodeName& node, const Error& error) override;

  /// Writes the unfinished lines and the end of the document. `error` becomes its last field.
  void finish(const Error* error = nullptr);
  bool closed() const noexcept { return closed_; }

 private:
  void line(int rank, agent::OutputStream stream, std::string_view text);
  void write(const std::string& text);

  Context& context_;
  std::map<std::pair<int, agent::OutputStream>, std::string> held_;
  bool has_lines_ = false;
  bool closed_ = false;
};

}  // namespace fastgpu::cli
