// An endpoint of a real provider that demands what RDMA adapters demand of memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/fabric/fabric_endpoint.hpp"

namespace fastgpu::test {

/// The findings of all endpoints together.
struct StrictFindings {
  std::atomic<int> unregistered{0};         ///< Operations whose memory was not registered.
  std::atomic<int> used_after{0};           ///< Registrations that ended before their operation.
  std::atomic<int> registrations{0};        ///< All that were ever made.
  std::atomic<std::size_t> most_locked{0};  ///< The most bytes of one endpoint at a time.
};

/// Passes everything on to another endpoint. Memory of any operation must be registered until the
/// operation has ended, as with FI_MR_LOCAL, and only so many bytes may be registered at a time, as
/// with `ulimit -l`.
class StrictEndpoint final : public comm::fabric::FabricEndpoint {
  using Operation = comm::fabric::OperationSpace;
  using Part = comm::fabric::FabricPart;
  using PeerNumber = comm::fabric::PeerNumber;

 public:
  StrictEndpoint(std::unique_ptr<comm::fabric::FabricEndpoint> real, std::size_t lockable,
                 std::shared_ptr<StrictFindings> findings)
      : real_(std::move(real)), traits_(real_->traits()), books_(std::make_shared<Books>()) {
    traits_.needs_local = true;
    books_->lockable = lockable;
    books_->findings = std::move(findings);
  }

  const comm::fabric::Traits& traits() const noexcept override { return traits_; }
  std::vector<std::byte> address() const override { return real_->address(); }
  std::optional<PeerNumber> add_peer(std::span<const std::byte> address) override {
    return real_->add_peer(address);
  }

  using FabricEndpoint::register_memory;
  std::unique_ptr<comm::fabric::FabricRegistration> register_memory(
      std::span<std::byte> memory, const comm::fabric::MemoryLocation& location) override {
    return std::make_unique<Memory>(books_, real_->register_memory(memory, location));
  }

  bool inject(PeerNumber peer, std::span<const std::byte> bytes) override {
    return real_->inject(peer, bytes);
  }
  bool send(PeerNumber peer, const Part& part, Operation& operation) override {
    return begun(real_->send(peer, part, operation), part, operation);
  }
  bool receive(const Part& part, Operation& operation) override {
    return begun(real_->receive(part, operation), part, operation);
  }
  bool send_tagged(PeerNumber peer, std::uint64_t tag, const Part& part,
                   Operation& operation) override {
    return begun(real_->send_tagged(peer, tag, part, operation), part, operation);
  }
  bool receive_tagged(std::uint64_t tag, const Part& part, Operation& operation) override {
    return begun(real_->receive_tagged(tag, part, operation), part, operation);
  }
  bool write(PeerNumber peer, const Part& part, const comm::fabric::RemotePlace& to,
             comm::fabric::WriteKind kind, std::uint32_t data, Operation& operation) override {
    return begun(real_->write(peer, part, to, kind, data, operation), part, operation);
  }
  void cancel(Operation& operation) override { real_->cancel(operation); }

  std::size_t poll(std::span<comm::fabric::PortCompletion> completions) override {
    const std::size_t count = real_->poll(completions);
    for (std::size_t i = 0; i < count; ++i)
      books_->users.erase(completions[i].operation);
    return count;
  }
  std::string describe(int error) const override { return real_->describe(error); }
  bool may_sleep() override { return real_->may_sleep(); }
  int descriptor() const noexcept override { return real_->descriptor(); }
  void stop() noexcept override {
    real_->stop();
    books_->users.clear();
  }

 private:
  /// The memory that is registered, and the operations that use it. One thread at a time.
  struct Books {
    std::size_t lockable = 0;
    std::size_t locked = 0;
    std::shared_ptr<StrictFindings> findings;
    std::map<const Operation*, const comm::fabric::FabricRegistration*> users{};
  };

  class Memory final : public comm::fabric::FabricRegistration {
   public:
    Memory(std::shared_ptr<Books> books, std::unique_ptr<FabricRegistration> real)
        : books_(std::move(books)), real_(std::move(real)) {
      memory = real_->memory;
      place = real_->place;
      region = real_->region;
      if (books_->locked + memory.size() > books_->lockable)
        throw Error(ErrorKind::capacity, "this test lets no more memory be locked");
      books_->locked += memory.size();
      StrictFindings& findings = *books_->findings;
      ++findings.registrations;
      std::size_t most = findings.most_locked;
      while (most < books_->locked &&
             !findings.most_locked.compare_exchange_weak(most, books_->locked)) {
      }
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() override {
      books_->locked -= memory.size();
      const auto is_mine = [&](const auto& user) { return user.second == this; };
      books_->findings->used_after +=
          static_cast<int>(std::ranges::count_if(books_->users, is_mine));
    }

   private:
    std::shared_ptr<Books> books_;
    std::unique_ptr<FabricRegistration> real_;
  };

  bool begun(bool has_begun, const Part& part, const Operation& operation) {
    const auto* const registration = part.registration;
    const bool is_covered = registration != nullptr &&
                            part.bytes.data() >= registration->memory.data() &&
                            part.bytes.data() + part.bytes.size() <=
                                registration->memory.data() + registration->memory.size();
    if (!is_covered) ++books_->findings->unregistered;
    if (has_begun && is_covered) books_->users[&operation] = registration;
    return has_begun;
  }

  std::unique_ptr<comm::fabric::FabricEndpoint> real_;
  comm::fabric::Traits traits_;
  std::shared_ptr<Books> books_;
};

}  // namespace fastgpu::test
