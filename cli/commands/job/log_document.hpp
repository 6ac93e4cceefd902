// The output of a job's ranks as a JSON or YAML document, which is written line by line.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "cli/commands/job/job_output.hpp"
#include "cli/program/context.hpp"
#include "launcher/job_observer.hpp"

namespace fastgpu::cli {

/// Writes {"schema": "fastgpu.logs/1", "job": ..., "lines": [{"rank", "stream", "time", "text"},
/// ...]} to stdout. The time is null if it is unknown. Each line of a rank is written once it is
/// complete. The lines of mpirun itself have the rank null, and are left out if `words` says so. If
/// the reader of stdout is gone, requests the program's cancel.
class LogDocument final : public launcher::JobObserver {
 public:
  LogDocument(Context& context, const std::string& job, LauncherWords words = LauncherWords::shown);
  void output(int rank, agent::OutputStream stream, std::string_view bytes) override;
  void written_at(int rank, agent::OutputStream stream, std::int64_t time) override;
  void connection_lost(const NodeName& node, const Error& error) override;

  /// Writes the unfinished lines and the end of the document. `error` becomes its last field.
  void finish(const Error* error = nullptr);
  bool closed() const noexcept { return closed_; }

 private:
  struct Held {
    std::string text{};
    std::optional<std::int64_t> begun{};  ///< When the first byte of `text` was written.
    std::optional<std::int64_t> now{};    ///< The time of the output that follows.
  };
  void line(int rank, agent::OutputStream stream, Held& held);
  void write(const std::string& text);

  Context& context_;
  std::map<std::pair<int, agent::OutputStream>, Held> held_;
  LauncherWords words_;
  bool has_lines_ = false;
  bool closed_ = false;
};

}  // namespace fastgpu::cli
