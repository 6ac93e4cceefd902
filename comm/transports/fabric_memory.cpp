#include "comm/transports/fabric_memory.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace fastgpu::comm {
namespace {

using MeasuringClock = std::chrono::steady_clock;

constexpr std::size_t kShortestMeasured = 32 << 10;
constexpr int kMeasurements = 5;

/// Returns the shortest of several times that `act` takes.
template <class Act>
MeasuringClock::duration shortest_time(const Act& act) {
  auto shortest = MeasuringClock::duration::max();
  for (int i = 0; i < kMeasurements; ++i) {
    const auto begin = MeasuringClock::now();
    act();
    shortest = std::min(shortest, MeasuringClock::now() - begin);
  }
  return shortest;
}

/// Returns whether registered memory has all of `bytes`.
bool covers(const fabric::FabricRegistration& registration,
            std::span<const std::byte> bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(registration.memory.data());
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::size_t size = registration.memory.size();
  return address >= begin && address - begin <= size && bytes.size() <= size - (address - begin);
}

/// Lets the compiler keep what is written there.
void take_as_read(const std::byte* memory) {
  asm volatile("" : : "r"(memory) : "memory");
}

}  // namespace

std::size_t measured_copy_limit(fabric::FabricEndpoint& endpoint) {
  std::vector<std::byte> from(kMaxCopied);
  std::vector<std::byte> to(kMaxCopied);
  std::size_t limit = 0;
  for (std::size_t bytes = kShortestMeasured; bytes <= kMaxCopied; bytes *= 2) {
    const auto copying = shortest_time([&] {
      std::memcpy(to.data(), from.data(), bytes);
      take_as_read(to.data());
    });
    const auto registering =
        shortest_time([&] { endpoint.register_memory(std::span(from).first(bytes)); });
    if (registering <= copying) break;
    limit = bytes;
  }
  return limit;
}

std::unique_ptr<fabric::FabricRegistration> ProgramMemory::lend(std::span<std::byte> bytes) {
  if (is_refused_ || bytes.size() <= copy_limit_) return nullptr;
  try {
    return endpoint_.register_memory(bytes);
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::capacity) throw;
    is_refused_ = true;
    refusal_ = e;
    return nullptr;
  }
}

fabric::RemotePlace place_in(const fabric::FabricRegistration& registration,
                             std::span<const std::byte> bytes) noexcept {
  const auto offset = static_cast<std::uint64_t>(bytes.data() - registration.memory.data());
  return {registration.place.address + offset, registration.place.key};
}

void RegisteredMemory::add(std::unique_ptr<fabric::FabricRegistration> registration) {
  const auto address = reinterpret_cast<std::uintptr_t>(registration->memory.data());
  all_[address] = std::move(registration);
}

void RegisteredMemory::remove(const std::byte* memory) {
  all_.erase(reinterpret_cast<std::uintptr_t>(memory));
}

const fabric::FabricRegistration* RegisteredMemory::find(
    std::span<const std::byte> bytes) const noexcept {
  for (const Lent& lent : lent_)
    if (covers(*lent.registration, bytes)) return lent.registration.get();
  auto above = all_.upper_bound(reinterpret_cast<std::uintptr_t>(bytes.data()));
  if (above == all_.begin()) return nullptr;
  const auto& registration = (--above)->second;
  return covers(*registration, bytes) ? registration.get() : nullptr;
}

void RegisteredMemory::lend(std::unique_ptr<fabric::FabricRegistration> registration) {
  lent_.push_back({std::move(registration)});
}

/// Returns the loan of exactly these bytes.
std::vector<RegisteredMemory::Lent>::iterator RegisteredMemory::lent_as(
    std::span<const std::byte> bytes) noexcept {
  return std::ranges::find_if(lent_, [&](const Lent& lent) {
    const auto memory = lent.registration->memory;
    return memory.data() == bytes.data() && memory.size() == bytes.size();
  });
}

bool RegisteredMemory::lend_again(std::span<const std::byte> bytes) noexcept {
  const auto lent = lent_as(bytes);
  if (lent == lent_.end()) return false;
  ++lent->times;
  return true;
}

void RegisteredMemory::give_back(std::span<const std::byte> bytes) noexcept {
  const auto lent = lent_as(bytes);
  if (lent != lent_.end() && --lent->times == 0) lent_.erase(lent);
}

fabric::FabricPart FabricBlocks::take() {
  if (spare_.empty()) grow();
  const fabric::FabricPart block = spare_.back();
  spare_.pop_back();
  return block;
}

void FabricBlocks::grow() {
  const std::size_t bytes = block_bytes_ * blocks_a_chunk_;
  // Not set to zero: while the system refuses to lock more, this is tried again at every turn.
  Chunk chunk{std::make_unique_for_overwrite<std::byte[]>(bytes), nullptr};
  const std::span memory(chunk.memory.get(), bytes);
  if (is_registered_) chunk.registration = endpoint_.register_memory(memory);
  for (std::size_t i = blocks_a_chunk_; i > 0; --i)
    spare_.push_back(
        {memory.subspan((i - 1) * block_bytes_, block_bytes_), chunk.registration.get()});
  chunks_.push_back(std::move(chunk));
}

void FabricBlocks::clear() noexcept {
  spare_.clear();
  chunks_.clear();
}

}  // namespace fastgpu::comm
