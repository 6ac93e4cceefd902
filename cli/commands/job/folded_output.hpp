// The output of a job in which a line that several ranks have written is shown once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/job_observer.hpp"

namespace fastgpu::cli {

/// Holds the lines of ranks back, and passes them on with all ranks that have written the same: the
/// nth time that one writes a line belongs to the nth time of the others. A line is where the first
/// rank has written it. It holds at most `most` bytes: a larger amount is folded in parts.
class FoldedOutput final : public launcher::JobObserver {
 public:
  using Show = std::function<void(const std::set<int>& ranks, agent::OutputStream stream,
                                  std::string_view line)>;

  /// Everything that is no output of a rank goes to `to`.
  FoldedOutput(launcher::JobObserver& to, Show show, std::size_t most = std::size_t{64} << 20)
      : to_(to), show_(std::move(show)), most_(most) {}

  void output(int rank, agent::OutputStream stream, std::string_view bytes) override;
  void connection_lost(const NodeName& node, const Error& error) override {
    to_.connection_lost(node, error);
  }
  void node_left(const NodeName& node) override { to_.node_left(node); }
  void disk_full(const NodeName& node, const std::string& path) override {
    to_.disk_full(node, path);
  }

  /// Passes on what it holds, with lines that have not ended.
  void finish();

 private:
  using Source = std::pair<int, agent::OutputStream>;
  struct Line {
    agent::OutputStream stream;
    std::string text;
    std::set<int> ranks;
  };
  using Times = std::map<std::pair<agent::OutputStream, std::string>, std::vector<std::size_t>>;

  void add(int rank, agent::OutputStream stream, std::string_view line);
  void show_all();

  launcher::JobObserver& to_;
  Show show_;
  std::size_t most_;
  std::size_t held_ = 0;
  std::vector<Line> lines_;
  Times times_;  ///< The lines of each text, by the number of the time.
  std::map<std::pair<Source, std::string>, std::size_t> written_;  ///< How often each rank has.
  std::map<Source, std::string> unfinished_;
};

}  // namespace fastgpu::cli
