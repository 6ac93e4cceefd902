// The output of a job's ranks, as one JSON or YAML document that grows line by line.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "cli/program/context.hpp"
#include "launcher/following.hpp"

namespace fastgpu::cli {

/// A writer of {"schema": "fastgpu.logs/1", "job": ..., "lines": [{"rank", "stream", "text"}, ...]}
/// to stdout, with a line of the document for each line of a rank, as soon as it has ended.
/// mpirun's own output has the rank null. If nothing reads stdout any more, it requests the program
/// to stop.
class LogDocument final : public launcher::JobObserver {
 public:
  LogDocument(Context& context, const std::string& job);
  void output(int rank, agent::OutputStream stream, std::string_view bytes) override;
  void connection_lost(const NodeName& node, const Error& error) override;

  /// Writes lines without an end, and the end of the document. `error` becomes its last field.
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
