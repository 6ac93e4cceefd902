#include "comm/transports/tcp_arrivals.hpp"

#include <utility>

#include "base/error.hpp"

namespace fastgpu::comm {

bool TcpArrivals::has_whole(MessageTag tag) noexcept {
  const TcpArrival* const arrival = arrivals_.find(tag);
  return arrival != nullptr && arrival->here == arrival->total;
}

void TcpArrivals::keep(const Frame& chunk, std::span<const std::byte> bytes) {
  unasked_.add(kArrivalCost + bytes.size());
  bytes_ += kArrivalCost + bytes.size();
  TcpArrival* arrival = arrivals_.find(chunk.tag);
  if (arrival == nullptr)
    arrival = &arrivals_.add(chunk.tag, {.tag = chunk.tag, .total = chunk.total});
  else if (arrival->here == arrival->total || chunk.total != arrival->total ||
           chunk.tag != arrival->tag)
    throw Error(ErrorKind::remote, "it sent a message twice");
  arrival->here += bytes.size();
  if (arrival->here > arrival->total) throw Error(ErrorKind::remote, "it sent bytes twice");
  arrival->chunks.push_back({chunk.offset, {bytes.begin(), bytes.end()}});
}

TcpArrival TcpArrivals::take(MessageTag tag) {
  if (!has(tag)) return {};
  TcpArrival taken = arrivals_.take(tag);
  const std::size_t cost = taken.chunks.size() * kArrivalCost + taken.here;
  bytes_ -= cost;
  unasked_.remove(cost);
  return taken;
}

void TcpArrivals::clear() noexcept {
  arrivals_.clear();
  unasked_.remove(std::exchange(bytes_, 0));
}

}  // namespace fastgpu::comm
