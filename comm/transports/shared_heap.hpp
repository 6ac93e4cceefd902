// Memory of this rank that other processes of the same host can map, without a name anywhere.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "base/unique_fd.hpp"

namespace fastgpu::comm {

/// A mapping of a whole file descriptor, undone with the object.
class Mapping {
 public:
  Mapping() noexcept = default;
  /// Throws ErrorKind::capacity where the memory is not to be had.
  Mapping(int fd, std::size_t bytes);
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  std::span<std::byte> bytes() const noexcept { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

/// Anonymous memory behind a descriptor: it is gone with the last process that maps it, however
/// those end. Throws ErrorKind::capacity.
UniqueFd create_shared_file(std::size_t bytes);

/// Opens descriptor `fd` of process `pid`; empty where this process may not, or sees another one
/// under that number, and for a file that could shrink: reading beyond its end is a signal.
UniqueFd open_shared_file(pid_t pid, int fd) noexcept;

std::size_t size_of_file(int fd) noexcept;  ///< 0 where it cannot be told.

/// How a piece of one rank's heap is named to the others.
struct HeapPlace {
  std::uint32_t region = 0;
  std::uint32_t generation = 0;  ///< Tells a region from an earlier one with its number.
  std::uint64_t offset = 0;
};

/// One row of the table by which others find a region. Written by its owner before any place in it
/// is named to anybody.
struct RegionRow {
  std::uint32_t generation = 0;
  std::int32_t fd = -1;
  std::uint64_t bytes = 0;
};

constexpr std::size_t kMostRegions = 1024;

/// What this rank has allocated.
class SharedHeap {
 public:
  /// Borrows `table`, of kMostRegions rows, which others can read.
  explicit SharedHeap(std::span<RegionRow> table) : table_(table) {}

  /// Zeroed, aligned for any type. Throws ErrorKind::capacity.
  std::span<std::byte> allocate(std::size_t bytes);

  /// Throws ErrorKind::usage for memory that `allocate` has not given.
  void free(const std::byte* memory);

  /// Absent where any of `bytes` is not of this heap.
  std::optional<HeapPlace> place_of(std::span<const std::byte> bytes) const noexcept;

 private:
  struct Region {
    std::uint32_t index = 0;
    UniqueFd fd;
    Mapping mapping;
  };

  std::span<RegionRow> table_;
  std::map<std::uintptr_t, Region> regions_;  ///< By address.
};

/// Another rank's heap as mapped here, region by region as they are met.
class PeerHeap {
 public:
  /// Borrows the other rank's table.
  PeerHeap(pid_t pid, std::span<const RegionRow> table) : pid_(pid), table_(table) {}

  /// Throws ErrorKind::remote for a place that is none, ErrorKind::local where it cannot be mapped.
  std::span<const std::byte> at(const HeapPlace& place, std::uint64_t bytes);

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
