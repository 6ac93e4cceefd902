#include "comm/gpu/staged.hpp"

#include <algorithm>
#include <optional>

namespace fastgpu::comm::gpu {
namespace {

constexpr std::size_t kPartBytes = std::size_t{4} << 20;  ///< A whole number of any element.

/// Returns true if any part of the data can travel without the others.
bool is_divisible(CallKind kind) {
  return kind == CallKind::all_reduce || kind == CallKind::broadcast || kind == CallKind::message;
}

/// Returns the parts of a call. A message has only one of the two spans.
std::vector<StagedQueue::Part> parts_of(const DeviceCall& call) {
  if (!is_divisible(call.kind)) return {{call.in, call.out}};
  std::vector<StagedQueue::Part> parts;
  const std::size_t bytes = std::max(call.in.size(), call.out.size());
  const auto part_of = [bytes](auto whole, std::size_t at) {
    return whole.empty() ? whole : whole.subspan(at, std::min(kPartBytes, bytes - at));
  };
  for (std::size_t at = 0; at == 0 || at < bytes; at += kPartBytes)
    parts.push_back({part_of(call.in, at), part_of(call.out, at)});
  return parts;
}

StagedQueue::Start start_of(const DeviceCall& call) {
  return
      [kind = call.kind, direction = call.direction, reduction = call.reduction, type = call.moved,
       peer = call.peer](Communicator& ranks, std::span<std::byte> in, std::span<std::byte> out) {
        switch (kind) {
          case CallKind::all_reduce:
            return ranks.start_all_reduce(out, reduction);
          case CallKind::reduce_scatter:
            return ranks.start_reduce_scatter(in, out, reduction);
          case CallKind::all_gather:
            return ranks.start_all_gather(in, out, type);
          case CallKind::broadcast:
            return ranks.start_broadcast(out, peer, type);
          case CallKind::all_to_all:
            return ranks.start_all_to_all(in, out, type);
          case CallKind::message:
            return direction == Direction::out ? ranks.start_send(in, peer, type)
                                               : ranks.start_receive(out, peer, type);
          case CallKind::split:
          case CallKind::barrier:
            break;
        }
        return ranks.start_barrier();
      };
}

}  // namespace

StagedCollectives::StagedCollectives(Communicator& ranks, std::shared_ptr<Device> device)
    : DeviceCollectives(*ranks.split(0, 0), std::move(device)), collectives_(ranks_, device_) {}

StagedQueue& StagedCollectives::queue_of(const DeviceCall& call) {
  if (call.kind != CallKind::message) return collectives_;
  auto& queue = messages_[{call.direction.value(), call.peer}];
  if (!queue) queue = std::make_unique<StagedQueue>(ranks_, device_);
  return *queue;
}

DeviceCollectives::Request StagedCollectives::submit(const DeviceCall& call, StreamHandle stream) {
  const bool is_message = call.kind == CallKind::message;
  return queue_of(call).add(parts_of(call), start_of(call), stream,
                            is_message ? std::optional(call.peer) : std::nullopt);
}

}  // namespace fastgpu::comm::gpu
