// The user's settings for the fabric, and the choice among the networks that a machine offers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/fabric/plugin.hpp"
#include "comm/fabric/rank_gpu.hpp"

namespace fastgpu::comm::fabric {

/// The way in which the bytes of a long message get into the receiver's memory.
enum class Put : std::uint8_t {
  none,       ///< Sent as tagged messages, without writes.
  with_data,  ///< Written; the write carries the number of the piece to the receiver's queue.
  then_send,  ///< Written; a small message follows, which does not overtake.
  delivered   ///< Written; once the bytes are in place a small message follows.
};
constexpr Put kPuts[] = {Put::none, Put::with_data, Put::then_send, Put::delivered};

/// Returns "none", "a", "b" or "c", as FASTGPU_COMM_FABRIC_PUT has them.
std::string_view name_of(Put put) noexcept;
std::optional<Put> put_named(std::string_view name) noexcept;

/// Whether a job may do without a fabric.
enum class FabricNeed : std::uint8_t {
  none,     ///< A fabric is not wanted.
  welcome,  ///< Taken if there is hardware for it, or a provider is named.
  must      ///< Taken; its absence is an error.
};

/// Whether the network may read and write the memory of GPUs.
enum class GpuDirect : std::uint8_t {
  off,
  automatic,  ///< Where the machine has GPUs, and the provider can do it.
  always      ///< Asked of the provider also without GPUs, for tests.
};

struct FabricSettings {
  FabricNeed need = FabricNeed::none;
  std::string provider{};  ///< Empty: the best one.
  std::string device{};    ///< Empty: the one that leads to rank 0, or else the nearest.
  /// Devices that carry messages beside the first one; the other ranks name as many.
  std::vector<std::string> further_devices{};
  std::optional<Put> put{};  ///< Absent: the best that the provider can do.
  GpuVariables gpu{};        ///< The rank's GPU, to which its device is to be near.
  GpuDirect gpudirect = GpuDirect::automatic;
  std::string plugin{};  ///< The plugin's file; empty: the usual place.
  /// Whether the job ends if a fabric does not reach a rank that shares no memory with this one.
  bool is_required = false;
};

/// Returns whether the user has named what is to carry messages. Then its absence is an error, also
/// where a fabric is only welcome.
bool is_asked_for(const FabricSettings& settings) noexcept;

/// Returns whether a provider's full name is meant by `wanted`: "verbs" means "verbs;ofi_rxm" too.
bool is_meant(std::string_view provider, std::string_view wanted) noexcept;

/// The most devices that carry messages together.
constexpr std::size_t kMostDevices = 4;

/// Returns the index of the best offer; absent if none will do. `near` is this machine's address on
/// the way to the others; `nearest` is the device beside this process, or empty. Only a named
/// provider, or FabricNeed::must, allows one without hardware.
std::optional<std::size_t> choose(std::span<const FabricOffer> offers,
                                  const FabricSettings& settings, std::string_view near,
                                  std::string_view nearest = {});

/// Returns whether an offer can move bytes in that way.
bool can(const FabricOffer& offer, Put put) noexcept;

/// Returns the best way that an offer has, with a libfabric of that version (117 is 1.17).
Put best_put(const FabricOffer& offer, std::uint32_t library_version) noexcept;

}  // namespace fastgpu::comm::fabric
