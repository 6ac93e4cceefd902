// A fabric between endpoints of one process, for tests that need no libfabric.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/fabric/fabric_endpoint.hpp"

namespace fastgpu::test {

/// The abilities of the endpoints of a wire, and their demands.
struct WireTraits {
  comm::fabric::Put put = comm::fabric::Put::none;
  bool needs_local = false;
  bool has_addresses = true;  ///< Else writes name offsets.
  bool takes_device_memory = false;
  std::size_t inject_bytes = 64;
  std::size_t most_bytes = SIZE_MAX;
  std::size_t lockable = SIZE_MAX;  ///< Bytes that may be registered at a time, of all endpoints.
  std::size_t queue_length = SIZE_MAX;  ///< Completions that an endpoint keeps until it is polled.
  std::string device = "test";
};

/// All endpoints of a job. Whoever sends moves the bytes.
class FabricWire : public std::enable_shared_from_this<FabricWire> {
 public:
  explicit FabricWire(const WireTraits& traits = {}) : traits_(traits) {}

  std::unique_ptr<comm::fabric::FabricEndpoint> endpoint();

  std::atomic<bool> is_full{false};          ///< Nothing can be sent now.
  std::atomic<bool> holds_puts{false};       ///< What is put does not come to an end.
  std::atomic<bool> is_broken{false};        ///< Every operation fails.
  std::atomic<bool> is_silent{false};        ///< Operations begin, and nothing comes of them.
  std::atomic<bool> is_cut{false};           ///< Copies get lost, and other sends fail.
  std::atomic<int> too_late{0};              ///< Messages to endpoints that had stopped.
  std::atomic<int> lost{0};                  ///< So many of the next sends get lost.
  std::atomic<int> registrations{0};         ///< All that were ever made.
  std::atomic<bool> refuses_devices{false};  ///< Memory of GPUs cannot be registered.
  std::atomic<int> device_registrations{0};  ///< The part of `registrations` that are of a GPU.
  std::atomic<int> stops{0};
  std::chrono::milliseconds pause_of_stop{0};  ///< For which an endpoint that stops holds its rank.
  std::atomic<std::size_t> longest_queue{0};   ///< The most completions that an endpoint has kept.

 private:
  class End;
  class Memory;
  using Operation = comm::fabric::OperationSpace;

  struct Posted {
    std::uint64_t tag = 0;
    comm::fabric::FabricPart part{};
    Operation* operation = nullptr;
  };
  struct Parcel {
    std::uint64_t tag = 0;
    std::vector<std::byte> bytes{};
  };
  /// Messages of one kind that are awaited, and those that have come.
  struct Counter {
    std::list<Posted> posted{};
    std::list<Parcel> parcels{};
  };

  WireTraits traits_;
  std::mutex mutex_;
  std::vector<End*> ends_;                                 ///< By number; null once it is gone.
  std::map<std::uint64_t, std::span<std::byte>> regions_;  ///< By key.
  std::uint64_t next_key_ = 1;
  std::size_t locked_ = 0;  ///< Bytes that are registered.
};

class FabricWire::Memory final : public comm::fabric::FabricRegistration {
 public:
  Memory(std::shared_ptr<FabricWire> wire, std::span<std::byte> bytes) : wire_(std::move(wire)) {
    const std::lock_guard lock(wire_->mutex_);
    if (wire_->locked_ + bytes.size() > wire_->traits_.lockable)
      throw Error(ErrorKind::capacity, "too little may be locked");
    wire_->locked_ += bytes.size();
    memory = bytes;
    const std::uint64_t base =
        wire_->traits_.has_addresses ? reinterpret_cast<std::uintptr_t>(bytes.data()) : 0;
    place = {base, wire_->next_key_++};
    wire_->regions_[place.key] = bytes;
    ++wire_->registrations;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() override {
    const std::lock_guard lock(wire_->mutex_);
    wire_->regions_.erase(place.key);
    wire_->locked_ -= memory.size();
  }

 private:
  std::shared_ptr<FabricWire> wire_;
};

class FabricWire::End final : public comm::fabric::FabricEndpoint {
 public:
  using Part = comm::fabric::FabricPart;
  using Completion = comm::fabric::PortCompletion;
  using Kind = comm::fabric::CompletionKind;

  explicit End(std::shared_ptr<FabricWire> wire) : wire_(std::move(wire)) {
    const WireTraits& given = wire_->traits_;
    traits_ = {.provider = "wire", .device = given.device, .put = given.put};
    traits_.needs_local = given.needs_local;
    traits_.takes_device_memory = given.takes_device_memory;
    traits_.inject_bytes = given.inject_bytes;
    traits_.receives = 64;
    traits_.most_bytes = given.most_bytes;
    const std::lock_guard lock(wire_->mutex_);
    number_ = wire_->ends_.size();
    wire_->ends_.push_back(this);
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;
  ~End() override { leave(); }

  const comm::fabric::Traits& traits() const noexcept override { return traits_; }
  std::vector<std::byte> address() const override { return {static_cast<std::byte>(number_)}; }
  std::optional<comm::fabric::PeerNumber> add_peer(std::span<const std::byte> address) override {
    if (address.size() != 1) return std::nullopt;
    return std::to_integer<std::uint64_t>(address.front());
  }
  using FabricEndpoint::register_memory;
  std::unique_ptr<comm::fabric::FabricRegistration> register_memory(
      std::span<std::byte> memory, const comm::fabric::MemoryLocation& location) override {
    if (location.kind != comm::fabric::MemoryKind::host) {
      if (wire_->refuses_devices) throw Error(ErrorKind::local, "no memory of GPU 3");
      ++wire_->device_registrations;
    }
    return std::make_unique<Memory>(wire_, memory);
  }

  bool inject(comm::fabric::PeerNumber peer, std::span<const std::byte> bytes) override {
    check_wire();
    if (wire_->is_full) return false;
    if (wire_->is_silent || wire_->is_cut) return true;
    const std::lock_guard lock(wire_->mutex_);
    if (End* const to = end(peer))
      deliver(*to, to->untagged_, 0, bytes);
    else
      ++wire_->too_late;
    return true;
  }
  bool send(comm::fabric::PeerNumber peer, const Part& part, Operation& operation) override {
    return send_by(&End::untagged_, peer, 0, part, operation);
  }
  bool send_tagged(comm::fabric::PeerNumber peer, std::uint64_t tag, const Part& part,
                   Operation& operation) override {
    return send_by(&End::tagged_, peer, tag, part, operation);
  }
  bool receive(const Part& part, Operation& operation) override {
    return receive_by(untagged_, 0, part, operation);
  }
  bool receive_tagged(std::uint64_t tag, const Part& part, Operation& operation) override {
    return receive_by(tagged_, tag, part, operation);
  }

  bool write(comm::fabric::PeerNumber peer, const Part& part, const comm::fabric::RemotePlace& to,
             comm::fabric::WriteKind kind, std::uint32_t data, Operation& operation) override {
    check(part);
    check_wire();
    if (wire_->is_full) return false;
    if (wire_->is_silent) return true;
    const std::lock_guard lock(wire_->mutex_);
    End* const target = end(peer);
    const auto region = wire_->regions_.find(to.key);
    const bool is_possible = target != nullptr && region != wire_->regions_.end();
    if (!is_possible || wire_->is_cut) return fail(operation);
    const auto memory = region->second;
    const std::uint64_t base =
        wire_->traits_.has_addresses ? reinterpret_cast<std::uintptr_t>(memory.data()) : 0;
    const std::uint64_t offset = to.address - base;
    if (offset > memory.size() || part.bytes.size() > memory.size() - offset)
      return fail(operation);
    if (wire_->holds_puts) return true;
    std::ranges::copy(part.bytes, memory.begin() + static_cast<std::ptrdiff_t>(offset));
    complete({.operation = &operation});
    if (kind == comm::fabric::WriteKind::with_data)
      target->complete({.kind = Kind::data, .data = data});
    return true;
  }

  void cancel(Operation& operation) override {
    const std::lock_guard lock(wire_->mutex_);
    const auto is_it = [&](const Posted& each) { return each.operation == &operation; };
    if (std::erase_if(tagged_.posted, is_it) > 0)
      complete({.operation = &operation, .kind = Kind::received, .error = 125});
  }

  std::size_t poll(std::span<Completion> into) override {
    check_wire();
    if (wire_->is_silent) return 0;
    const std::lock_guard lock(wire_->mutex_);
    if (has_overrun_) throw Error(ErrorKind::local, "wire: fi_cq_read: the queue has overrun");
    const std::size_t count = std::min(into.size(), completions_.size());
    for (std::size_t i = 0; i < count; ++i) {
      into[i] = completions_.front();
      completions_.pop_front();
    }
    return count;
  }
  std::string describe(int error) const override { return "error " + std::to_string(error); }
  bool may_sleep() override { return false; }
  int descriptor() const noexcept override { return -1; }
  void stop() noexcept override {
    ++wire_->stops;
    leave();
    std::this_thread::sleep_for(wire_->pause_of_stop);
  }

 private:
  End* end(comm::fabric::PeerNumber number) const {
    return number < wire_->ends_.size() ? wire_->ends_[number] : nullptr;
  }
  void leave() noexcept {
    const std::lock_guard lock(wire_->mutex_);
    wire_->ends_[number_] = nullptr;
    untagged_ = {};
    tagged_ = {};
    completions_.clear();
  }
  /// Throws if memory is not registered that must be.
  void check(const Part& part) const {
    if (!traits_.needs_local) return;
    const auto* const registration = part.registration;
    const bool is_covered = registration != nullptr &&
                            part.bytes.data() >= registration->memory.data() &&
                            part.bytes.data() + part.bytes.size() <=
                                registration->memory.data() + registration->memory.size();
    if (!is_covered) throw Error(ErrorKind::internal, "this memory is not registered");
  }
  void check_wire() const {
    if (wire_->is_broken) throw Error(ErrorKind::local, "the wire is broken");
  }
  /// Adds a completion. A queue without room for it has overrun, as that of a device would have.
  void complete(const Completion& completion) {
    has_overrun_ = has_overrun_ || completions_.size() >= traits_of_wire().queue_length;
    completions_.push_back(completion);
    wire_->longest_queue = std::max(wire_->longest_queue.load(), completions_.size());
  }
  const WireTraits& traits_of_wire() const noexcept { return wire_->traits_; }
  bool fail(Operation& operation) {
    complete({.operation = &operation, .error = 5});
    return true;
  }
  bool send_by(Counter End::*counter, comm::fabric::PeerNumber peer, std::uint64_t tag,
               const Part& part, Operation& operation) {
    check(part);
    check_wire();
    if (wire_->is_full) return false;
    if (wire_->is_silent) return true;
    const std::lock_guard lock(wire_->mutex_);
    End* const to = end(peer);
    if (to == nullptr) ++wire_->too_late;
    if (to == nullptr || wire_->is_cut) return fail(operation);
    if (counter == &End::tagged_ && wire_->holds_puts) return true;
    deliver(*to, to->*counter, tag, part.bytes);
    complete({.operation = &operation});
    return true;
  }
  void deliver(End& to, Counter& counter, std::uint64_t tag, std::span<const std::byte> bytes) {
    if (wire_->lost > 0) {
      --wire_->lost;
      return;
    }
    const auto found = std::ranges::find(counter.posted, tag, &Posted::tag);
    if (found == counter.posted.end()) {
      counter.parcels.push_back({tag, {bytes.begin(), bytes.end()}});
      return;
    }
    finish(to, *found, bytes);
    counter.posted.erase(found);
  }
  static void finish(End& to, const Posted& posted, std::span<const std::byte> bytes) {
    const bool fits = bytes.size() <= posted.part.bytes.size();
    if (fits) std::ranges::copy(bytes, posted.part.bytes.begin());
    to.complete({.operation = posted.operation,
                 .kind = Kind::received,
                 .bytes = bytes.size(),
                 .error = fits ? 0 : 265});
  }
  bool receive_by(Counter& counter, std::uint64_t tag, const Part& part, Operation& operation) {
    check(part);
    const std::lock_guard lock(wire_->mutex_);
    const Posted posted{tag, part, &operation};
    const auto found = std::ranges::find(counter.parcels, tag, &Parcel::tag);
    if (found == counter.parcels.end()) {
      counter.posted.push_back(posted);
    } else {
      finish(*this, posted, found->bytes);
      counter.parcels.erase(found);
    }
    return true;
  }

  std::shared_ptr<FabricWire> wire_;
  std::size_t number_ = 0;
  comm::fabric::Traits traits_;
  Counter untagged_;
  Counter tagged_;
  std::deque<Completion> completions_;
  bool has_overrun_ = false;
};

inline std::unique_ptr<comm::fabric::FabricEndpoint> FabricWire::endpoint() {
  return std::make_unique<End>(shared_from_this());
}

}  // namespace fastgpu::test
