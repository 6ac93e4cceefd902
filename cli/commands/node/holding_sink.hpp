// Keeps the output of many hosts in bounded memory until all of them have ended.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "remote/exec.hpp"

namespace fastgpu::cli {

/// The maximum numbers of bytes that are kept.
struct HoldingLimits {
  std::size_t stream = 64UL * 1024 * 1024;
  /// The maximum for all hosts together. The document that is made of the output needs three times
  /// as much for some time, which must fit into a machine with 2 GiB.
  std::size_t all = 512UL * 1024 * 1024;
};

enum class Repeats : std::uint8_t {
  shared,  ///< Equal streams share one copy once they have ended.
  counted  ///< Equal streams are counted one by one, because each will be written out.
};

/// The output of a host. Valid while the sink lives.
struct HeldOutput {
  std::string_view out;
  std::string_view err;
  bool truncated = false;  ///< True if the host has written more than was kept.
};

/// Keeps each host's output, up to the limits. One half of the total is shared equally, so that a
/// host with much or early output does not displace the others. The other half goes to the hosts
/// that need more, in the order in which they do.
class HoldingSink final : public remote::OutputSink {
 public:
  HoldingSink(std::size_t hosts, Repeats repeats, const HoldingLimits& limits = {});
  void output(std::size_t host, remote::OutputChannel channel, std::string_view text) override;
  void ended(std::size_t host) override;
  /// Returns the outputs of all hosts. The text of hosts that have not ended is missing.
  const std::vector<HeldOutput>& held() const noexcept { return held_; }

 private:
  struct Pending {
    std::string out;
    std::string err;
    std::size_t from_common = 0;  ///< The bytes beyond the host's own share.
  };
  std::string_view settle(std::string& text, Pending& pending);

  HoldingLimits limits_;
  Repeats repeats_;
  std::size_t share_;   ///< Each host's own share in bytes.
  std::size_t common_;  ///< The bytes that are left for hosts that need more.
  std::vector<Pending> pending_;
  /// The streams of hosts that have ended. Equal streams are stored once.
  std::unordered_set<std::string> texts_;
  std::vector<HeldOutput> held_;
};

}  // namespace fastgpu::cli
