// What many hosts say, kept until all have ended, in bounded memory.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "remote/exec.hpp"

namespace fastgpu::cli {

/// How many bytes are kept of what hosts say.
struct HoldingLimits {
  std::size_t stream = 64UL * 1024 * 1024;
  /// Of all hosts together. The document that is made of it takes three times as much for a while,
  /// which a machine of 2 GiB is to carry.
  std::size_t all = 512UL * 1024 * 1024;
};

enum class Repeats : std::uint8_t {
  shared,  ///< Of equal streams all but the first make room again once they have ended.
  counted  ///< Each will be written out, and counts.
};

/// What a host has said, as long as the sink lives.
struct HeldOutput {
  std::string_view out;
  std::string_view err;
  bool truncated = false;  ///< There was more than is here.
};

/// Keeps what each host says, up to the limits. Half of that for all is the hosts' in equal shares,
/// so that who says much, or is early, does not silence the others; the rest is for who comes
/// first.
class HoldingSink final : public remote::OutputSink {
 public:
  HoldingSink(std::size_t hosts, Repeats repeats, const HoldingLimits& limits = {});
  void output(std::size_t host, remote::Channel channel, std::string_view text) override;
  void ended(std::size_t host) override;
  /// Of hosts that have not ended it lacks the text.
  const std::vector<HeldOutput>& held() const noexcept { return held_; }

 private:
  struct Coming {
    std::string out;
    std::string err;
    std::size_t from_common = 0;  ///< Bytes beyond the host's share.
  };
  std::string_view settle(std::string& text, Coming& coming);

  HoldingLimits limits_;
  Repeats repeats_;
  std::size_t share_;   ///< Of each host, in bytes.
  std::size_t common_;  ///< What is left for those that need more.
  std::vector<Coming> coming_;
  std::unordered_set<std::string> texts_;  ///< Of streams that have ended; equal ones once.
  std::vector<HeldOutput> held_;
};

}  // namespace fastgpu::cli
