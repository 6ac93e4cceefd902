// What other ranks may say of themselves before transports are laid: rank 0 hears two of them.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "base/error.hpp"
#include "comm/common/wire.hpp"
#include "comm/rendezvous/connections.hpp"
#include "comm/rendezvous/introduce.hpp"

namespace comm = fastgpu::comm;

namespace {

using Bytes = std::vector<std::byte>;

constexpr int kRanks = 3;
constexpr int kFlows = 4;
/// Where an introduction has its address, and the number of the process within.
constexpr std::size_t kAddress = 6;
constexpr std::size_t kPid = 4;
/// A bit of the first byte.
constexpr std::uint8_t kHasFurtherNetwork = 0x80;

/// An address of this process, so that nobody else's descriptors are opened.
void put_own_pid(Bytes& said) {
  if (said.size() >= kAddress + kPid)
    comm::WireWriter(std::span(said).subspan(kAddress, kPid))
        .put(static_cast<std::uint32_t>(::getpid()));
}

void put_address(Bytes& said, const comm::SharedMemoryTransport& transport) {
  const auto address = transport.address();
  if (said.size() < kAddress + address.size()) return;
  said[0] = static_cast<std::byte>(address.size());
  std::ranges::copy(address, said.begin() + kAddress);
}

/// The end of a connection on which `said` has come, and nothing will come after it.
fastgpu::UniqueFd connection_that_says(const Bytes& said, std::vector<fastgpu::UniqueFd>& far) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    __builtin_trap();
  far.emplace_back(ends[1]);
  ::send(ends[1], said.data(), said.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  ::shutdown(ends[1], SHUT_WR);
  return fastgpu::UniqueFd(ends[0]);
}

void check(const comm::Connections& connections, const comm::FurtherSockets& sockets,
           std::size_t networks) {
  std::set<comm::Rank> seen;
  std::size_t members = 0;
  for (const auto& node : connections.topology.nodes) {
    members += node.size();
    seen.insert(node.begin(), node.end());
  }
  if (members != kRanks || seen.size() != kRanks || seen.rbegin()->value != kRanks - 1)
    __builtin_trap();
  for (const int count : sockets.flows)
    if (count < 1 || count >= kFlows + static_cast<int>(networks)) __builtin_trap();
  for (int r = 1; r < kRanks; ++r)
    if (sockets.addresses[static_cast<std::size_t>(r)].size() != networks - 1) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::array<comm::SharedMemoryTransport, 2> others{
      comm::SharedMemoryTransport(comm::Rank{1}, kRanks),
      comm::SharedMemoryTransport(comm::Rank{2}, kRanks)};
  if (size == 0) return 0;
  const auto rest = std::as_bytes(std::span(data, size)).subspan(1);
  comm::Connections connections{.rank = {0}, .size = kRanks};
  connections.sockets.resize(kRanks);
  std::vector<fastgpu::UniqueFd> far_ends;
  for (std::size_t i = 0; i < others.size(); ++i) {
    const std::size_t half = rest.size() / 2;
    const auto mine = rest.subspan(i * half, half);
    Bytes said(mine.begin(), mine.end());
    if ((data[0] >> i & 1) != 0)
      put_address(said, others[i]);
    else
      put_own_pid(said);
    connections.sockets[i + 1].push_back(connection_that_says(said, far_ends));
  }
  try {
    comm::Wishes wishes{comm::SharedMemory::on, kFlows};
    if ((data[0] & kHasFurtherNetwork) != 0) wishes.further.emplace_back();
    const auto sockets =
        comm::introduce(connections, wishes, comm::Deadline(std::chrono::seconds(1)));
    check(connections, sockets, wishes.further.size() + 1);
  } catch (const fastgpu::Error& e) {
    const auto kind = e.kind();
    if (kind != fastgpu::ErrorKind::remote && kind != fastgpu::ErrorKind::transient &&
        kind != fastgpu::ErrorKind::usage)
      __builtin_trap();
  }
  return 0;
}
