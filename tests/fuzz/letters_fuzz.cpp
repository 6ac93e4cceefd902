// What another rank of this host may write into the memory that it shares, and where it may say
// that memory is.
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "comm/common/wire.hpp"
#include "comm/transports/shared_memory_transport.hpp"
#include "comm/transports/shared_peer.hpp"
#include "support/taken_from.hpp"

namespace comm = fastgpu::comm;
using fastgpu::test::taken_from;

namespace {

class Nobody final : public comm::TransportEvents {
 public:
  void sent(comm::Outgoing&) override {}
  void received(comm::Incoming& message) override {
    if (message.moved != message.sink.memory.size()) __builtin_trap();
  }
  void noted(comm::Rank, comm::MessageTag, const comm::Note&) override {}
  void lost(comm::Rank, const fastgpu::Error&) override {}
};

struct Messages {
  std::array<std::vector<float>, 4> memory{std::vector<float>(0), std::vector<float>(10),
                                           std::vector<float>(3000), std::vector<float>(40'000)};
  std::array<comm::Incoming, 4> wanted;
  std::array<comm::Outgoing, 4> offered;

  explicit Messages(comm::SharedPeer& peer) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      wanted[i].tag = offered[i].tag = {i};
      wanted[i].sink.memory = std::as_writable_bytes(std::span(memory[i]));
      offered[i].bytes = wanted[i].sink.memory;
      if (i % 2 == 0) wanted[i].sink.reduction = {comm::ElementType::float32, comm::ReduceOp::sum};
      peer.receive(wanted[i]);
      peer.send(offered[i]);
    }
  }
};

/// An address of this process, so that nobody else's descriptors are opened.
void try_to_connect(std::span<const std::byte> said) {
  static comm::SharedMemoryTransport transport(comm::Rank{0}, 2);
  std::vector<std::byte> address(said.begin(), said.end());
  if (address.size() >= 4)
    comm::WireWriter(std::span(address).first(4)).put(static_cast<std::uint32_t>(::getpid()));
  transport.connect({1}, address);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto boxes = std::make_unique<std::array<comm::Mailbox, 2>>();
  static std::vector<comm::RegionRow> table(comm::kMostRegions);
  static comm::SharedHeap heap(table);
  static const auto region = heap.allocate(200'000);
  static std::vector<comm::RegionRow> own_table(comm::kMostRegions);
  static comm::SharedHeap own_heap(own_table);

  auto& [out, in] = *boxes;
  Nobody nobody;
  comm::UnaskedBytes unasked;
  static std::array<std::byte, 4 * comm::StagedMessages::kUnit> copies;
  comm::StagedMessages staged(copies, nobody);
  comm::SharedPeer peer({1},
                        {.out = out,
                         .in = in,
                         .staged = staged,
                         .staged_by_peer = copies,
                         .heap = own_heap,
                         .heap_of_peer = comm::PeerHeap(::getpid(), table)},
                        nobody, unasked, comm::BarrierMaker::each);
  const Messages messages(peer);
  const auto bytes = std::as_bytes(std::span(data, size));
  try_to_connect(bytes);
  try {
    for (std::size_t at = 0; at + sizeof(comm::Descriptor) <= size;
         at += sizeof(comm::Descriptor)) {
      comm::Descriptor descriptor;
      std::memcpy(&descriptor, data + at, sizeof(descriptor));
      if (in.has_room()) in.put(descriptor, comm::BarrierMaker::each);
      while (peer.progress()) {
        while (taken_from(out)) {
        }
      }
    }
  } catch (const fastgpu::Error& e) {
    if (e.kind() != fastgpu::ErrorKind::remote) __builtin_trap();
  }
  while (taken_from(in) || taken_from(out)) {
  }
  return region.empty() ? 1 : 0;
}
