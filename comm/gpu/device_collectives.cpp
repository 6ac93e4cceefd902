#include "comm/gpu/device_collectives.hpp"

#include "base/error.hpp"

namespace fastgpu::comm::gpu {
namespace {

void check_elements(const std::string& call, std::size_t bytes, ElementType type) {
  if (bytes % size_of(type) == 0) return;
  throw Error(ErrorKind::usage, call + ": " + std::to_string(bytes) +
                                    " bytes are no whole number of " + std::string(name_of(type)));
}

void check_blocks(const std::string& call, std::size_t all, std::size_t mine, int ranks) {
  if (all == mine * static_cast<std::size_t>(ranks)) return;
  throw Error(ErrorKind::usage, call + ": " + std::to_string(all) + " bytes are not " +
                                    std::to_string(mine) + " for each of " + std::to_string(ranks) +
                                    " ranks");
}

}  // namespace

DeviceCollectives::Request DeviceCollectives::all_reduce(std::span<std::byte> data,
                                                         Reduction reduction, StreamHandle stream) {
  check_elements("all_reduce", data.size(), reduction.type);
  return checked({.kind = CallKind::all_reduce, .in = data, .out = data, .reduction = reduction},
                 stream);
}

DeviceCollectives::Request DeviceCollectives::reduce_scatter(std::span<const std::byte> all,
                                                             std::span<std::byte> mine,
                                                             Reduction reduction,
                                                             StreamHandle stream) {
  check_elements("reduce_scatter", mine.size(), reduction.type);
  check_blocks("reduce_scatter", all.size(), mine.size(), ranks_.size());
  return checked({.kind = CallKind::reduce_scatter, .in = all, .out = mine, .reduction = reduction},
                 stream);
}

DeviceCollectives::Request DeviceCollectives::all_gather(std::span<const std::byte> mine,
                                                         std::span<std::byte> all,
                                                         StreamHandle stream, ElementType type) {
  check_blocks("all_gather", all.size(), mine.size(), ranks_.size());
  return checked({.kind = CallKind::all_gather, .in = mine, .out = all, .moved = type}, stream);
}

DeviceCollectives::Request DeviceCollectives::broadcast(std::span<std::byte> data, Rank root,
                                                        StreamHandle stream, ElementType type) {
  check_rank("broadcast", root);
  return checked(
      {.kind = CallKind::broadcast, .in = data, .out = data, .moved = type, .peer = root}, stream);
}

DeviceCollectives::Request DeviceCollectives::all_to_all(std::span<const std::byte> out,
                                                         std::span<std::byte> in,
                                                         StreamHandle stream, ElementType type) {
  const auto ranks = static_cast<std::size_t>(ranks_.size());
  check_blocks("all_to_all", out.size(), in.size() / ranks, ranks_.size());
  check_blocks("all_to_all", in.size(), out.size() / ranks, ranks_.size());
  return checked({.kind = CallKind::all_to_all, .in = out, .out = in, .moved = type}, stream);
}

DeviceCollectives::Request DeviceCollectives::send(std::span<const std::byte> data, Rank to,
                                                   StreamHandle stream, ElementType type) {
  check_rank("send", to);
  return checked({.kind = CallKind::message,
                  .direction = Direction::out,
                  .in = data,
                  .moved = type,
                  .peer = to},
                 stream);
}

DeviceCollectives::Request DeviceCollectives::receive(std::span<std::byte> data, Rank from,
                                                      StreamHandle stream, ElementType type) {
  check_rank("receive", from);
  return checked({.kind = CallKind::message,
                  .direction = Direction::in,
                  .out = data,
                  .moved = type,
                  .peer = from},
                 stream);
}

DeviceCollectives::Request DeviceCollectives::checked(const DeviceCall& call, StreamHandle stream) {
  if (call.kind == CallKind::message && call.peer == ranks_.rank())
    throw Error(ErrorKind::usage, "a rank sends no messages to itself");
  check_memory(call.kind, {.in = call.in, .out = call.out}, ranks_.rank());
  if (!call.in.empty()) device_->check_is_here(call.in.data());
  if (!call.out.empty()) device_->check_is_here(call.out.data());
  return submit(call, stream);
}

void DeviceCollectives::check_rank(const std::string& call, Rank rank) const {
  if (rank.value >= 0 && rank.value < ranks_.size()) return;
  throw Error(ErrorKind::usage, call + ": there is no rank " + std::to_string(rank.value) +
                                    " among " + std::to_string(ranks_.size()));
}

}  // namespace fastgpu::comm::gpu
