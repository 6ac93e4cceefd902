#include "comm/communicator.hpp"

#include <utility>

#include "base/error.hpp"
#include "comm/algorithms/dissemination.hpp"
#include "comm/algorithms/ring.hpp"
#include "comm/algorithms/tree.hpp"
#include "comm/transports/socket.hpp"

namespace fastgpu::comm {
namespace {

/// Large enough that system calls do not count, small enough to stay in a core's cache.
constexpr std::size_t kPiece = 256 << 10;

}  // namespace

Communicator::Communicator(std::unique_ptr<Transport> transport)
    : transport_(std::move(transport)), scratch_(std::make_unique<std::byte[]>(kPiece)) {}

Communicator::Communicator(Connections connections)
    : scratch_(std::make_unique<std::byte[]>(kPiece)) {
  std::vector<UniqueFd> sockets(connections.sockets.size());
  for (std::size_t r = 0; r < sockets.size(); ++r)
    if (!connections.sockets[r].empty()) sockets[r] = std::move(connections.sockets[r].front());
  transport_ =
      std::make_unique<SocketTransport>(connections.rank, std::move(sockets), connections.timeout);
}

void Communicator::all_reduce(std::span<std::byte> data, Reduction reduction) {
  if (data.size() % size_of(reduction.type) != 0)
    throw Error(ErrorKind::usage, "all_reduce: " + std::to_string(data.size()) +
                                      " bytes are no whole number of " +
                                      std::string(name_of(reduction.type)));
  const Call call{.kind = CallKind::all_reduce, .bytes = data.size(), .reduction = reduction};
  run(call, [&](const Call& agreed) {
    agree_along_ring(*transport_, agreed);
    ring_all_reduce(*transport_, data, reduction, {scratch_.get(), kPiece});
  });
}

void Communicator::broadcast(std::span<std::byte> data, Rank root) {
  if (root.value < 0 || root.value >= size())
    throw Error(ErrorKind::usage, "broadcast: there is no rank " + std::to_string(root.value) +
                                      " among " + std::to_string(size()));
  const Call call{.kind = CallKind::broadcast, .bytes = data.size(), .root = root};
  run(call, [&](const Call& agreed) {
    agree_along_tree(*transport_, agreed);
    tree_broadcast(*transport_, data, root, kPiece);
  });
}

void Communicator::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  if (all.size() != mine.size() * static_cast<std::size_t>(size()))
    throw Error(ErrorKind::usage, "all_gather: " + std::to_string(all.size()) +
                                      " bytes do not hold " + std::to_string(mine.size()) +
                                      " of each of " + std::to_string(size()) + " ranks");
  const Call call{.kind = CallKind::all_gather, .bytes = mine.size()};
  run(call, [&](const Call& agreed) {
    agree_along_ring(*transport_, agreed);
    ring_all_gather(*transport_, mine, all);
  });
}

void Communicator::barrier() {
  run({.kind = CallKind::barrier},
      [&](const Call& agreed) { dissemination_barrier(*transport_, agreed); });
}

void Communicator::run(Call call, const std::function<void(const Call&)>& collective) {
  if (!failure_.empty())
    throw Error(ErrorKind::remote, "this communicator is broken since " + failure_);
  call.sequence = sequence_++;
  try {
    collective(call);
  } catch (const Error& e) {
    failure_ = describe(call) + ": " + e.what();
    throw e.during(describe(call));
  }
}

}  // namespace fastgpu::comm
