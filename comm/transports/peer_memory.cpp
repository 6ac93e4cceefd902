#include "comm/transports/peer_memory.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "base/error.hpp"

namespace fastgpu::comm {
namespace {

/// The maximum length of the known bytes.
constexpr std::size_t kMostKnown = 64;

/// Returns the number of bytes read, or -1.
ssize_t read_from(pid_t pid, std::span<std::byte> into, std::uint64_t address) noexcept {
  const iovec here{into.data(), into.size()};
  const iovec there{std::bit_cast<void*>(address), into.size()};
  return ::process_vm_readv(pid, &here, 1, &there, 1, 0);
}

/// Returns whether a thread is stopped, by what the kernel tells of it: "4711 (name) T 1 ...".
bool is_stopped_thread(const std::filesystem::path& thread) {
  std::ifstream file(thread / "stat");
  std::string line;
  std::getline(file, line);
  const std::size_t end_of_name = line.rfind(')');
  if (end_of_name == std::string::npos || end_of_name + 2 >= line.size()) return false;
  const char state = line[end_of_name + 2];
  return state == 'T' || state == 't';
}

}  // namespace

PeerMemory::PeerMemory(pid_t pid, std::uint64_t address,
                       std::span<const std::byte> known) noexcept {
  std::array<std::byte, kMostKnown> found{};
  assert(known.size() <= found.size());
  const std::span place(found.data(), known.size());
  const bool is_read = read_from(pid, place, address) == static_cast<ssize_t>(known.size());
  if (!is_read || !std::ranges::equal(place, known)) return;
  pid_ = pid;
  known_address_ = address;
}

void PeerMemory::read(std::span<std::byte> into, std::uint64_t address) const {
  while (!into.empty()) {
    const ssize_t read = read_from(pid_, into, address);
    if (read <= 0)
      throw Error(ErrorKind::remote, "reading its memory: " + std::generic_category().message(
                                                                  read == 0 ? EFAULT : errno));
    into = into.subspan(static_cast<std::size_t>(read));
    address += static_cast<std::uint64_t>(read);
  }
}

bool PeerMemory::write(std::span<const std::byte> bytes, std::uint64_t address) const noexcept {
  while (!bytes.empty()) {
    const iovec here{const_cast<std::byte*>(bytes.data()), bytes.size()};
    const iovec there{std::bit_cast<void*>(address), bytes.size()};
    const ssize_t written = ::process_vm_writev(pid_, &here, 1, &there, 1, 0);
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    address += static_cast<std::uint64_t>(written);
  }
  return true;
}

bool PeerMemory::is_stopped() const noexcept try {
  std::size_t threads = 0;
  for (const auto& thread :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task")) {
    if (!is_stopped_thread(thread.path())) return false;
    ++threads;
  }
  return threads > 0;
} catch (const std::exception&) {
  return false;
}

bool PeerMemory::is_there() const noexcept {
  std::byte first{};
  return read_from(pid_, std::span(&first, 1), known_address_) == 1;
}

}  // namespace fastgpu::comm
