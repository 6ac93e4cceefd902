// The output of several nodes in the order in which it was written.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "launcher/job_observer.hpp"

namespace fastgpu::cli {

/// The output that is held back to be sorted.
enum class Merging : std::uint8_t {
  all,
  backlog,  ///< Output that was there before: what comes live is passed on at once.
};

/// Holds output back and passes it on sorted by time. The bytes of one stream keep their order. It
/// holds at most `most` bytes: of a larger amount each part of that size is sorted by itself.
class MergedOutput final : public launcher::JobObserver {
 public:
  MergedOutput(launcher::JobObserver& to, Merging merging, std::size_t most = std::size_t{64} << 20)
      : to_(to), merging_(merging), most_(most), holds_(merging == Merging::all) {}

  void output(int rank, agent::OutputStream stream, std::string_view bytes) override;
  void written_at(int rank, agent::OutputStream stream, std::int64_t time) override;
  void rank_ended(const agent::RankEnd& end, const NodeName& node) override;
  void backlog_begins() override { holds_ = true; }
  void backlog_ended() override;
  void queued(const std::string& run, const std::string& reason) override {
    to_.queued(run, reason);
  }
  void connection_lost(const NodeName& node, const Error& error) override {
    to_.connection_lost(node, error);
  }
  void node_left(const NodeName& node) override { to_.node_left(node); }
  void starts_late(const NodeName& node, std::chrono::milliseconds longest) override {
    to_.starts_late(node, longest);
  }
  void disk_full(const NodeName& node, const std::string& path) override {
    to_.disk_full(node, path);
  }
  void launcher_stays(const NodeName& first, std::chrono::milliseconds ago) override {
    to_.launcher_stays(first, ago);
  }
  void stacks(const NodeName& node, std::string_view text) override { to_.stacks(node, text); }

  /// Passes on what it holds.
  void finish();

 private:
  using Source = std::pair<int, agent::OutputStream>;
  struct Piece {
    std::int64_t time;
    Source source;
    std::string bytes;
  };

  void pass_output();

  launcher::JobObserver& to_;
  Merging merging_;
  std::size_t most_;
  bool holds_;
  std::size_t held_ = 0;
  std::vector<Piece> pieces_;
  std::vector<std::pair<agent::RankEnd, NodeName>> ends_;  ///< They come after all held output.
  std::map<Source, std::int64_t> times_;
};

}  // namespace fastgpu::cli
