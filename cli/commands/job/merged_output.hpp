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

/// Holds output back and passes it on sorted by time. The bytes of one stream keep their order. It
/// holds at most `most` bytes: of a larger amount each part of that size is sorted by itself.
class MergedOutput final : public launcher::JobObserver {
 public:
  explicit MergedOutput(launcher::JobObserver& to, std::size_t most = std::size_t{64} << 20)
      : to_(to), most_(most) {}

  void output(int rank, agent::OutputStream stream, std::string_view bytes) override;
  void written_at(int rank, agent::OutputStream stream, std::int64_t time) override;
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

  /// Passes on what it holds.
  void finish();

 private:
  using Source = std::pair<int, agent::OutputStream>;
  struct Piece {
    std::int64_t time;
    Source source;
    std::string bytes;
  };

  launcher::JobObserver& to_;
  std::size_t most_;
  std::size_t held_ = 0;
  std::vector<Piece> pieces_;
  std::map<Source, std::int64_t> times_;
};

}  // namespace fastgpu::cli
