// Memory that an endpoint of a fabric may use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/fabric/fabric_endpoint.hpp"

namespace fastgpu::comm {

/// Returns the place of `bytes`, which are within the registered memory, for other ranks.
fabric::RemotePlace place_in(const fabric::FabricRegistration& registration,
                             std::span<const std::byte> bytes) noexcept;

/// Memory that is registered once, because messages come from it again and again.
class RegisteredMemory {
 public:
  void add(std::unique_ptr<fabric::FabricRegistration> registration);
  void remove(const std::byte* memory);
  void clear() noexcept {
    all_.clear();
    lent_.clear();
  }

  /// Adds memory that is lent for a message. The same may be lent several times.
  void lend(std::unique_ptr<fabric::FabricRegistration> registration);
  /// Returns false if the memory is not lent yet; else it is lent once more.
  bool lend_again(std::span<const std::byte> bytes) noexcept;
  void give_back(std::span<const std::byte> bytes) noexcept;

  /// Returns the registration that covers all of `bytes`; or null.
  const fabric::FabricRegistration* find(std::span<const std::byte> bytes) const noexcept;

 private:
  struct Lent {
    std::unique_ptr<fabric::FabricRegistration> registration;
    int times = 1;
  };

  std::vector<Lent>::iterator lent_as(std::span<const std::byte> bytes) noexcept;

  std::map<std::uintptr_t, std::unique_ptr<fabric::FabricRegistration>>
      all_;                 ///< Indexed by address.
  std::vector<Lent> lent_;  ///< A few at a time, which may overlap.
};

/// The longest piece of a message that is copied because that takes less time.
constexpr std::size_t kMaxCopied = 256 << 10;

/// Returns the length up to which a copy takes less time than a registration: of memory that was
/// registered before, because a program uses its memory again and again. At most kMaxCopied.
std::size_t measured_copy_limit(fabric::FabricEndpoint& endpoint);

/// The memory of messages that is registered for one operation, or copied.
class ProgramMemory {
 public:
  /// Pieces up to `copy_limit` are copied. Borrows the endpoint.
  ProgramMemory(fabric::FabricEndpoint& endpoint, std::size_t copy_limit)
      : endpoint_(endpoint), copy_limit_(copy_limit) {}

  /// Registers memory for one operation; returns null where its bytes are to be copied. That is so
  /// for all memory once the system has refused to lock more.
  std::unique_ptr<fabric::FabricRegistration> lend(std::span<std::byte> bytes);

  /// Returns the error by which the system has refused to lock more, once.
  std::optional<Error> take_refusal() noexcept { return std::exchange(refusal_, std::nullopt); }

 private:
  fabric::FabricEndpoint& endpoint_;
  std::size_t copy_limit_;
  bool is_refused_ = false;
  std::optional<Error> refusal_{};
};

/// Blocks of one size, used again and again.
class FabricBlocks {
 public:
  /// The blocks are registered if `is_registered`. Borrows the endpoint.
  FabricBlocks(fabric::FabricEndpoint& endpoint, std::size_t block_bytes,
               std::size_t blocks_a_chunk, bool is_registered)
      : endpoint_(endpoint),
        block_bytes_(block_bytes),
        blocks_a_chunk_(blocks_a_chunk),
        is_registered_(is_registered) {}

  /// Throws as FabricEndpoint::register_memory() does.
  fabric::FabricPart take();
  void give(const fabric::FabricPart& block) { spare_.push_back(block); }
  /// Makes sure that at least one block exists, so that one that is taken is given back one day.
  void reserve() { give(take()); }
  /// Forgets all blocks, those that are taken too.
  void clear() noexcept;

 private:
  struct Chunk {
    std::unique_ptr<std::byte[]> memory;
    std::unique_ptr<fabric::FabricRegistration> registration;
  };

  void grow();

  fabric::FabricEndpoint& endpoint_;
  std::size_t block_bytes_;
  std::size_t blocks_a_chunk_;
  bool is_registered_;
  std::vector<Chunk> chunks_;
  std::vector<fabric::FabricPart> spare_;
};

}  // namespace fastgpu::comm
