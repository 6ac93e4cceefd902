// The arithmetic of gossip on one stretch of numbers, without messages: what is sent, and how what
// neighbours have sent is mixed in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "comm/codecs/codec.hpp"
#include "comm/gossip/gossip_settings.hpp"

namespace fastgpu::comm {

/// The surroundings of a step: all that it needs beside numbers.
struct MixStep {
  const Codec* codec = nullptr;  ///< Null if numbers are sent as they are.
  double step_size = 1;          ///< The part of the difference of estimates that is taken over.
  std::uint64_t seed = 0;
  double own = 1;              ///< The weight of this member's own numbers.
  std::span<float> scratch{};  ///< Memory for as many numbers as the stretch has.
};

/// The message of a neighbour, and its weight.
struct MixIncoming {
  std::span<const std::byte> message{};
  double weight = 0;
};

/// A mixer of one stretch on one member, with what it remembers from step to step. Its sums go in
/// the order in which messages are listed, whatever order they came in.
class Mixer {
 public:
  Mixer() = default;
  Mixer(const Mixer&) = delete;
  Mixer& operator=(const Mixer&) = delete;
  virtual ~Mixer() = default;

  /// Returns the length of the message: both sides know it.
  virtual std::size_t message_bytes(const Codec* codec) const noexcept = 0;

  /// Writes this member's message of a step, which is the same for all neighbours.
  virtual void write(std::span<std::byte> message, std::span<const float> values,
                     const MixStep& step) = 0;

  /// Mixes in the messages of all neighbours of the step; `own` is what write() wrote. Throws
  /// MixFailure for a code that no encoder writes.
  virtual void mix(std::span<float> values, std::span<const std::byte> own,
                   std::span<const MixIncoming> incoming, const MixStep& step) = 0;

  /// Notes that all members have these numbers now.
  virtual void agree(std::span<const float> values) = 0;

  /// Returns the numbers to be saved with a checkpoint, and the weight of push-sum; empty if it
  /// remembers nothing.
  virtual std::vector<std::span<float>> memory() { return {}; }
  virtual double* weight() { return nullptr; }
};

/// The failure of one neighbour's message.
struct MixFailure {
  std::size_t neighbour = 0;
  Error error;
};

/// Returns a mixer of `count` numbers with so many neighbours, which stay the same for
/// MixMethod::difference.
std::unique_ptr<Mixer> make_mixer(MixMethod method, std::size_t count, std::size_t neighbours);

}  // namespace fastgpu::comm
