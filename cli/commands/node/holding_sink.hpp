// The output of many hosts, kept until all have ended, in bounded memory.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "remote/exec.hpp"

namespace fastgpu::cli {

/// The maximum numbers of bytes that are kept of hosts' output.
struct HoldingLimits {
  std::size_t stream = 64UL * 1024 * 1024;
  /// The maximum of all hosts together. The document that is made of it takes three times as much
  /// for a while, which must fit into a machine of 2 GiB.
  std::size_t all = 512UL * 1024 * 1024;
};

enum class Repeats : std::uint8_t {
  shared,  ///< Equal streams free their memory once they have ended, except for the first.
  counted  ///< Each will be written out, and counts.
};

/// A host's output, valid as long as the sink lives.
struct HeldOutput {
  std::string_view out;
  std::string_view err;
  bool truncated = false;  ///< True if there was more output.
};

/// A sink that keeps each host's output, up to the limits. Half of the total is shared equally, so
/// that hosts with much or early output do not silence the others. The rest is taken in order of
/// demand.
class HoldingSink final : public remote::OutputSink {
 public:
  HoldingSink(std::size_t hosts, Repeats repeats, const HoldingLimits& limits = {});
  void output(std::size_t host, remote::Channel channel, std::string_view text) override;
  void ended(std::size_t host) override;
  /// Returns the output; without the text of hosts that have not ended.
  const std::vector<HeldOutput>& held() const noexcept { return held_; }

 private:
  struct Pending {
    std::string out;
    std::string err;
    std::size_t from_common = 0;  ///< Bytes beyond the host's share.
  };
  std::string_view settle(std::string& text, Pending& pending);

  HoldingLimits limits_;
  Repeats repeats_;
  std::size_t share_;   ///< The share of each host, in bytes.
  std::size_t common_;  ///< The rest for those that need more.
  std::vector<Pending> pending_;
  std::unordered_set<std::string> texts_;  ///< Streams that have ended; equal ones once.
  std::vector<HeldOutput> held_;
};

}  // namespace fastgpu::cli
