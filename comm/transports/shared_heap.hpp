// Memory of this rank that other processes of the same host can map; it has no name in any file
// system.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "base/unique_fd.hpp"
#include "comm/transports/heap.hpp"

namespace fastgpu::comm {

/// A mapping of a whole file descriptor, undone with the object.
class Mapping {
 public:
  Mapping() noexcept = default;
  /// Maps the file. Throws ErrorKind::capacity if the memory is not available.
  Mapping(int fd, std::size_t bytes);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

/// Returns anonymous memory behind a descriptor: it is freed with the last process that maps it,
/// for any end of these. Throws ErrorKind::capacity.
UniqueFd create_shared_file(std::size_t bytes);

/// Opens descriptor `fd` of process `pid`. Empty if this process may not, or sees another one under
/// that number, and for a file that could shrink. Reading beyond its end is a signal.
UniqueFd open_shared_file(pid_t pid, int fd) noexcept;

std::size_t size_of_file(int fd) noexcept;  ///< Returns 0 if the size is unknown.

/// The name of a piece of one rank's heap for the others.
struct HeapPlace {
  std::uint32_t region = 0;
  /// The distinction of a region from an earlier one with its number.
  std::uint32_t generation = 0;
  std::uint64_t offset = 0;
};

/// One row of the table by which others find a region. Written by its owner before any place in it
/// is passed on.
struct RegionRow {
  std::uint32_t generation = 0;
  std::int32_t fd = -1;
  std::uint64_t bytes = 0;
};

constexpr std::size_t kMostRegions = 1024;

/// The memory that this rank has allocated.
class SharedHeap final : public Heap {
 public:
  /// Borrows `table`, of kMostRegions rows, which others can read.
  explicit SharedHeap(std::span<RegionRow> table) : table_(table) {}

  std::span<std::byte> allocate(std::size_t bytes) override;

  void free(const std::byte* memory) override;

  /// Returns the place; absent if any of `bytes` is not in this heap.
  std::optional<HeapPlace> place_of(std::span<const std::byte> bytes) const noexcept;

 private:
  struct Region {
    std::uint32_t index = 0;
    UniqueFd fd;
    Mapping mapping;
  };

  std::span<RegionRow> table_;
  std::map<std::uintptr_t, Region> regions_;  ///< Indexed by address.
};

/// Another rank's heap as mapped here, region by region as they are met.
class PeerHeap {
 public:
  /// Borrows the other rank's table.
  PeerHeap(pid_t pid, std::span<const RegionRow> table) : pid_(pid), table_(table) {}

  /// Returns the bytes at a place. Throws ErrorKind::remote for an invalid place, ErrorKind::local
  /// if it cannot be mapped.
  std::span<std::byte> at(const HeapPlace& place, std::uint64_t bytes);

 private:
  struct Region {
    std::uint32_t generation = 0;
    Mapping mapping;
  };

  pid_t pid_;
  std::span<const RegionRow> table_;
  std::map<std::uint32_t, Region> regions_;
};

}  // namespace fastgpu::comm
