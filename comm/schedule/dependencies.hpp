// The waits between steps of a program: all that must be kept of its order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/schedule/program.hpp"

namespace fastgpu::comm {

using StepIndex = std::uint32_t;  ///< An index into Program::steps.

/// Many short lists of steps in one array.
struct StepLists {
  std::vector<std::uint32_t> begins{0};  ///< List i is steps[begins[i]] to steps[begins[i + 1]].
  std::vector<StepIndex> steps;

  std::size_t size() const noexcept { return begins.size() - 1; }
  std::span<const StepIndex> operator[](std::size_t list) const {
    return std::span(steps).subspan(begins[list], begins[list + 1] - begins[list]);
  }
};

enum class Direction : std::uint8_t { out, in };

/// One direction between this rank and another on one lane, which keeps its order.
struct Channel {
  Rank peer{};
  std::uint8_t lane = 0;
  Direction direction = Direction::out;

  friend auto operator<=>(const Channel&, const Channel&) = default;
};

/// The order of a program's steps. A step may begin once every step in `before[step]` is done and
/// the step ahead of it on its channel has begun. A send is done when its part may be overwritten,
/// a receive when its part is filled (and reduced). Steps that touch nothing in common, such as
/// those of empty parts, wait only for their channel.
struct Dependencies {
  StepLists before;  ///< The list of each step, ascending: lower than the step itself.
  /// The list of each step, ascending: the steps that have it in `before`.
  StepLists after;
  std::vector<Channel> channels;  ///< Ascending.
  StepLists on_channel;           ///< The list of each channel: its steps, in their order.
};

/// Returns the order of a program. Takes O(s log s) for s steps that do not cut each other's parts
/// into ever smaller ones.
Dependencies dependencies_of(const Program& program);

/// Returns the channel of a send or receive.
Channel channel_of(const Step& step) noexcept;

/// Returns the part that the step reads, or the one that it writes (which a reduction also reads);
/// an empty part for nothing.
Part read_by(const Step& step) noexcept;
Part written_by(const Step& step) noexcept;

}  // namespace fastgpu::comm
