#include "comm/transports/shared_heap.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/available_memory.hpp"
#include "base/error.hpp"
#include "base/units.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kHugePage = 2 << 20;
constexpr std::size_t kPopulatedPiece = 128 << 20;
constexpr std::string_view kSharedMemory = "shared memory";

Error no_room(std::size_t bytes, int error_number) {
  return {ErrorKind::capacity, "no room for " + to_string(Bytes{bytes}) + " of " +
                                   std::string(kSharedMemory) + ": " +
                                   std::generic_category().message(error_number)};
}

/// Throws if this process may not have a file of that size: the kernel would end it by a signal.
void check_file_size(std::size_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur) return;
  throw Error(ErrorKind::capacity,
              "no room for " + to_string(Bytes{bytes}) + " of " + std::string(kSharedMemory) +
                  ": the files of this process may have " + to_string(Bytes{limit.rlim_cur}) +
                  " (run `ulimit -f unlimited`)");
}

std::size_t rounded_up(std::size_t bytes) {
  const std::size_t unit = bytes >= kHugePage ? kHugePage : 4096;
  if (bytes > SIZE_MAX - unit) throw no_room(bytes, ENOMEM);
  return (bytes + unit - 1) / unit * unit;
}

void check_available(std::size_t bytes) {
  check_available_memory(Bytes{bytes}, kSharedMemory);
}

/// Takes the pages now: later there would be a signal instead of an error. Other ranks of the host
/// may do so at the same time, so that there must be room for the rest before each piece.
void populate(std::span<std::byte> memory) {
  ::madvise(memory.data(), memory.size(), MADV_HUGEPAGE);
  for (std::size_t at = 0; at < memory.size(); at += kPopulatedPiece) {
    if (at > 0) check_available(memory.size() - at);
    const auto piece = memory.subspan(at, std::min(kPopulatedPiece, memory.size() - at));
    if (::madvise(piece.data(), piece.size(), MADV_POPULATE_WRITE) == 0) continue;
    if (errno != EINVAL) throw no_room(memory.size(), errno);
    return;  // A kernel older than 5.14.
  }
}

}  // namespace

Mapping::Mapping(int fd, std::size_t bytes) {
  void* const address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) throw no_room(bytes, errno);
  bytes_ = {static_cast<std::byte*>(address), bytes};
}

Mapping::Mapping(Mapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

Mapping::~Mapping() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

UniqueFd create_shared_file(std::size_t bytes) {
  check_file_size(bytes);
  UniqueFd fd(::memfd_create("fastgpu_comm", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) throw no_room(bytes, errno);
  const bool fits = bytes <= static_cast<std::size_t>(INT64_MAX);
  if (!fits || ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0)
    throw no_room(bytes, fits ? errno : ENOMEM);
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) throw no_room(bytes, errno);
  return fd;
}

UniqueFd open_shared_file(pid_t pid, int fd) noexcept {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  const int seals = file ? ::fcntl(file.get(), F_GET_SEALS) : -1;
  const bool stays = seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
  return stays ? std::move(file) : UniqueFd();
}

std::size_t size_of_file(int fd) noexcept {
  struct stat status {};
  return ::fstat(fd, &status) == 0 ? static_cast<std::size_t>(status.st_size) : 0;
}

std::span<std::byte> SharedHeap::allocate(std::size_t bytes) {
  std::uint32_t index = 0;
  while (index < table_.size() && table_[index].fd >= 0)
    ++index;
  if (index == table_.size())
    throw Error(ErrorKind::capacity, "there are " + std::to_string(table_.size()) +
                                         " blocks of shared memory already: free some, or "
                                         "allocate fewer and larger ones");
  check_available(bytes);
  const std::size_t size = rounded_up(bytes + (bytes == 0));
  Region region{index, create_shared_file(size), {}};
  region.mapping = Mapping(region.fd.get(), size);
  const auto memory = region.mapping.bytes();
  populate(memory);
  table_[index] = {table_[index].generation + 1, region.fd.get(), size};
  regions_.emplace(reinterpret_cast<std::uintptr_t>(memory.data()), std::move(region));
  return memory.first(bytes);
}

void SharedHeap::free(const std::byte* memory) {
  const auto found = regions_.find(reinterpret_cast<std::uintptr_t>(memory));
  if (found == regions_.end())
    throw Error(ErrorKind::usage, "this memory was not allocated by this communicator");
  Region& region = found->second;
  table_[region.index].fd = -1;
  // Other processes may still map it: its pages are freed all the same.
  ::fallocate(region.fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
              static_cast<off_t>(region.mapping.bytes().size()));
  regions_.erase(found);
}

std::optional<HeapPlace> SharedHeap::place_of(std::span<const std::byte> bytes) const noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  auto above = regions_.upper_bound(address);
  if (above == regions_.begin()) return std::nullopt;
  const auto& [begin, region] = *--above;
  const std::size_t size = region.mapping.bytes().size();
  const std::size_t offset = address - begin;
  if (offset > size || bytes.size() > size - offset) return std::nullopt;
  return HeapPlace{region.index, table_[region.index].generation, offset};
}

std::span<std::byte> PeerHeap::at(const HeapPlace& place, std::uint64_t bytes) {
  if (place.region >= table_.size())
    throw Error(ErrorKind::remote, "it named shared memory that it does not have");
  Region& region = regions_[place.region];
  if (region.generation != place.generation) {
    const RegionRow row = table_[place.region];
    UniqueFd fd = open_shared_file(pid_, row.fd);
    if (!fd) throw system_error("mapping its shared memory", errno);
    if (size_of_file(fd.get()) < row.bytes || row.bytes == 0)
      throw Error(ErrorKind::remote, "it named shared memory that it does not have");
    region = {place.generation, Mapping(fd.get(), row.bytes)};
  }
  const auto memory = region.mapping.bytes();
  if (place.offset > memory.size() || bytes > memory.size() - place.offset)
    throw Error(ErrorKind::remote, "it named shared memory beyond its end");
  return memory.subspan(place.offset, bytes);
}

}  // namespace fastgpu::comm
