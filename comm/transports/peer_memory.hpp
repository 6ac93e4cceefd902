// Memory of another process of this host that it has not shared, which the kernel reads and writes:
// one copy instead of two.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace fastgpu::comm {

class PeerMemory {
 public:
  /// Makes an object that may not read or write anything.
  PeerMemory() noexcept = default;

  /// Looks for `known` at `address` of process `pid`, and may not read anything if it is missing.
  /// Systems may forbid it (Yama's ptrace_scope), and containers hide processes from each other.
  PeerMemory(pid_t pid, std::uint64_t address, std::span<const std::byte> known) noexcept;

  bool is_readable() const noexcept { return pid_ > 0; }

  /// Fills `into` with the bytes at `address`. Throws ErrorKind::remote if no memory is mapped
  /// there.
  void read(std::span<std::byte> into, std::uint64_t address) const;

  /// Writes the bytes to `address`. Returns false if that fails, after none or some of them.
  bool write(std::span<const std::byte> bytes, std::uint64_t address) const noexcept;

  /// Returns whether the process is still there. A call of the kernel.
  bool is_there() const noexcept;

  /// Returns whether all threads of the process are stopped, by a signal or a debugger. Each has
  /// ended the call of the kernel that it was in: a read or a write of memory goes on to its end
  /// first. Returns false if that cannot be seen. Reads a file for each thread.
  bool is_stopped() const noexcept;

 private:
  pid_t pid_ = 0;
  std::uint64_t known_address_ = 0;
};

}  // namespace fastgpu::comm
