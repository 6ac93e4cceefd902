#include "comm/transports/shared_memory_transport.hpp"

#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "comm/common/membarrier.hpp"
#include "comm/common/wire.hpp"
#include "comm/transports/shared_peer.hpp"

namespace fastgpu::comm {

namespace {

/// The copies of messages that a rank makes for others: a few of the longest.
constexpr std::size_t kStagedBytes = 8 * kStaged;

}  // namespace

/// The beginning of what a rank shares. A mailbox to every other rank follows, and then the copies
/// of messages. Untouched pages cost nothing.
struct SharedMemoryTransport::Post {
  alignas(64) std::atomic<std::uint32_t> is_asleep;
  /// 1 if this rank makes the barrier of BarrierMaker::receiver, and is registered for those of
  /// others.
  std::uint32_t makes_barriers = 0;
  Nonce nonce{};
  std::uint64_t address_of_nonce = 0;  ///< An address in its owner's memory.
  alignas(64) RegionRow regions[kMostRegions];

  static std::size_t bytes(int size) { return staged_at(size) + kStagedBytes; }

  /// Returns the copies of messages that it makes for others.
  std::span<std::byte> staged(int size) {
    return {reinterpret_cast<std::byte*>(this) + staged_at(size), kStagedBytes};
  }
  Mailbox& mailbox_to(Rank rank) {
    auto* const first = reinterpret_cast<std::byte*>(this) + mailboxes_at();
    return *reinterpret_cast<Mailbox*>(first +
                                       static_cast<std::size_t>(rank.value) * sizeof(Mailbox));
  }

 private:
  static constexpr std::size_t whole_pages(std::size_t bytes) {
    return (bytes + 4095) / 4096 * 4096;
  }
  static constexpr std::size_t mailboxes_at() { return whole_pages(sizeof(Post)); }
  static std::size_t staged_at(int size) {
    return mailboxes_at() + whole_pages(static_cast<std::size_t>(size) * sizeof(Mailbox));
  }
};

class SharedMemoryTransport::Peer {
 public:
  Peer(Rank rank, Mapping mapping, pid_t pid)
      : rank_(rank), mapping_(std::move(mapping)), pid_(pid) {}

  Post& post() const { return *reinterpret_cast<Post*>(mapping_.bytes().data()); }
  Rank rank() const noexcept { return rank_; }

  pid_t pid() const noexcept { return pid_; }

  void open(Rank self, int size, Post& own, StagedMessages& staged, const SharedHeap& own_heap,
            TransportEvents& events, UnaskedBytes& unasked) {
    const bool makes_barriers = own.makes_barriers == 1 && post().makes_barriers == 1;
    traffic_.emplace(
        rank_,
        PairMemory{.out = own.mailbox_to(rank_),
                   .in = post().mailbox_to(self),
                   .staged = staged,
                   .staged_by_peer = post().staged(size),
                   .heap = own_heap,
                   .heap_of_peer = PeerHeap(pid_, post().regions),
                   .memory_of_peer = PeerMemory(pid_, post().address_of_nonce, post().nonce)},
        events, unasked, makes_barriers ? BarrierMaker::receiver : BarrierMaker::each);
  }
  SharedPeer& traffic() { return *traffic_; }

 private:
  Rank rank_;
  Mapping mapping_;
  pid_t pid_;
  std::optional<SharedPeer> traffic_;
};

namespace {

constexpr std::size_t kAddressBytes = 4 + 4 + 8 + sizeof(Nonce);

}  // namespace

SharedMemoryTransport::SharedMemoryTransport(Rank self, int size)
    : self_(self),
      size_(size),
      file_(create_shared_file(Post::bytes(size))),
      mapping_(file_.get(), Post::bytes(size)),
      post_(::new (mapping_.bytes().data()) Post),
      heap_(std::make_unique<SharedHeap>(post_->regions)),
      peers_(static_cast<std::size_t>(size)) {
  post_->makes_barriers = register_for_barriers(BarrierReach::machine) ? 1 : 0;
  post_->nonce = random_nonce();
  post_->address_of_nonce = reinterpret_cast<std::uintptr_t>(&post_->nonce);
}

SharedMemoryTransport::~SharedMemoryTransport() = default;

void SharedMemoryTransport::open(TransportEvents& events, ControlChannel& control) {
  events_ = &events;
  control_ = &control;
  staged_.emplace(post_->staged(size_), events);
  for (const auto& known : peers_) {
    if (!known) continue;
    known->open(self_, size_, *post_, *staged_, *heap_, events, unasked_);
    connected_.push_back(known.get());
  }
}

std::vector<std::byte> SharedMemoryTransport::address() const {
  std::vector<std::byte> address(kAddressBytes);
  WireWriter(address)
      .put(static_cast<std::uint32_t>(::getpid()))
      .put(static_cast<std::uint32_t>(file_.get()))
      .put(std::uint64_t{Post::bytes(size_)})
      .put(post_->nonce);
  return address;
}

bool SharedMemoryTransport::connect(Rank peer, std::span<const std::byte> address) {
  if (address.size() != kAddressBytes) return false;
  WireReader in(address);
  const auto pid = static_cast<pid_t>(in.get<std::uint32_t>());
  const auto number = static_cast<int>(in.get<std::uint32_t>());
  const std::size_t bytes = in.get<std::uint64_t>();
  const auto nonce = in.get_bytes<sizeof(Nonce)>();
  const UniqueFd file = open_shared_file(pid, number);
  if (!file || bytes != Post::bytes(size_) || size_of_file(file.get()) != bytes) return false;
  try {
    auto found = std::make_unique<Peer>(peer, Mapping(file.get(), bytes), pid);
    if (found->post().nonce != nonce) return false;
    peers_.at(static_cast<std::size_t>(peer.value)) = std::move(found);
    return true;
  } catch (const Error&) {
    return false;  // No room for the mapping: the sockets do.
  }
}

void SharedMemoryTransport::disconnect(Rank peer) noexcept {
  peers_[static_cast<std::size_t>(peer.value)].reset();
}

bool SharedMemoryTransport::reaches(Rank peer) const noexcept {
  return peers_[static_cast<std::size_t>(peer.value)] != nullptr;
}

pid_t SharedMemoryTransport::process_of(Rank rank) const noexcept {
  return reaches(rank) ? peer(rank).pid() : 0;
}

void SharedMemoryTransport::send(Outgoing& message) {
  Peer& to = peer(message.peer);
  link_.count_sent(message.bytes.size());
  to.traffic().send(message);
  ring(to);
}

/// Wakes a peer that sleeps and has descriptors now.
void SharedMemoryTransport::ring(Peer& peer) {
  if (peer.traffic().has_put() && peer.post().is_asleep.load(std::memory_order_seq_cst) != 0 &&
      peer.post().is_asleep.exchange(0) != 0)
    control_->wake(peer.rank());
}

void SharedMemoryTransport::receive(Incoming& message) {
  Peer& from = peer(message.peer);
  link_.count_received(message.sink.memory.size());
  try {
    from.traffic().receive(message);
  } catch (const Error& e) {
    events_->lost(message.peer, e);
  }
  ring(from);
}

bool SharedMemoryTransport::send_now(Outgoing& message) {
  Peer& to = peer(message.peer);
  if (!to.traffic().send_now(message)) return false;
  link_.count_sent(message.bytes.size());
  ring(to);
  return true;
}

bool SharedMemoryTransport::receive_now(Incoming& message) {
  Peer& from = peer(message.peer);
  bool has_come = false;
  try {
    has_come = from.traffic().receive_now(message);
  } catch (const Error& e) {
    events_->lost(message.peer, e);
  }
  ring(from);
  if (has_come) link_.count_received(message.sink.memory.size());
  return has_come;
}

bool SharedMemoryTransport::progress(Peer& peer) {
  bool has_moved = false;
  try {
    has_moved = peer.traffic().progress();
  } catch (const Error& e) {
    events_->lost(peer.rank(), e);
  }
  ring(peer);
  return has_moved;
}

bool SharedMemoryTransport::progress() {
  bool has_moved = false;
  for (Peer* const peer : connected_)
    has_moved = progress(*peer) || has_moved;
  return has_moved;
}

bool SharedMemoryTransport::tend() {
  bool has_moved = false;
  for (Peer* const peer : connected_)
    if (peer->traffic().is_busy()) has_moved = progress(*peer) || has_moved;
  return has_moved;
}

bool SharedMemoryTransport::may_sleep() {
  const bool was_asleep = post_->is_asleep.exchange(1, std::memory_order_seq_cst) != 0;
  // A barrier since it fell asleep is enough.
  if (!was_asleep && post_->makes_barriers == 1 && !make_barrier(BarrierReach::machine)) {
    woke();
    return false;
  }
  return std::ranges::none_of(connected_, [](Peer* peer) {
    return peer->traffic().has_descriptors() || peer->traffic().is_busy();
  });
}

void SharedMemoryTransport::woke() {
  post_->is_asleep.store(0, std::memory_order_relaxed);
}

bool SharedMemoryTransport::has_arrived(Rank lost) const noexcept {
  return peer(lost).traffic().has_left();
}

void SharedMemoryTransport::forget(Rank rank) {
  peer(rank).traffic().forget_outgoing();
}

void SharedMemoryTransport::abandon() noexcept {
  for (Peer* const peer : connected_)
    peer->traffic().abandon();
}

}  // namespace fastgpu::comm
