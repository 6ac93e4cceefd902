#include "comm/gpu/choose.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/communicator/broadcast_message.hpp"
#include "comm/gpu/nccl_collectives.hpp"

namespace fastgpu::comm::gpu {
namespace {

std::string name(std::size_t rank) {
  return "rank " + std::to_string(rank);
}

/// Formats a version: 22809 is 2.28.9.
std::string version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

template <class T>
std::vector<T> from_all(Communicator& ranks, const T& mine) {
  std::vector<T> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

std::optional<std::string> shared_device(std::span<const NcclOffer> offers) {
  for (std::size_t b = 1; b < offers.size(); ++b)
    for (std::size_t a = 0; a < b; ++a)
      if (offers[a].device == offers[b].device)
        return name(a) + " and " + name(b) + " use the same GPU";
  return std::nullopt;
}

/// NCCL on this rank, or the reason for its absence.
struct Loaded {
  std::shared_ptr<const NcclLibrary> library{};
  int version = 0;
  std::string failure{};
};

Loaded load(Device& device, const DeviceSettings& settings) {
  Loaded loaded;
  try {
    device.as_current([&] {
      loaded.library = device.load_nccl(settings.nccl);
      loaded.version = loaded.library->version();
    });
  } catch (const Error& e) {
    loaded.failure = e.what();
  }
  return loaded;
}

void check_same_wish(Communicator& ranks, std::span<const NcclOffer> offers) {
  for (std::size_t i = 1; i < offers.size(); ++i)
    if (offers[i].wish != offers[0].wish)
      throw ranks.caused_by(
          {static_cast<int>(i)},
          Error(ErrorKind::usage, "FASTGPU_COMM_DEVICE is " + name_of(offers[0].wish) +
                                      " on rank 0, but " + name_of(offers[i].wish) + " on " +
                                      name(i) + ": it is the same on all ranks"));
}

/// Returns a path without NCCL. Throws if NCCL was asked for; `culprit` cannot use it, if that is
/// one rank alone.
ChosenPath staged(Communicator& ranks, const DeviceSettings& settings, const std::string& why,
                  std::optional<Rank> culprit) {
  if (settings.path != DevicePath::nccl) return {nullptr, why};
  const Error error(ErrorKind::usage, "FASTGPU_COMM_DEVICE is nccl, but " + why);
  if (culprit) throw ranks.caused_by(*culprit, error);
  throw Error(error);
}

/// Joins all ranks, or none.
ChosenPath join(Communicator& ranks, const std::shared_ptr<Device>& device,
                const std::shared_ptr<const NcclLibrary>& library, const DeviceSettings& settings) {
  std::unique_ptr<NcclCollectives> mine;
  std::string failure;
  try {
    mine = std::make_unique<NcclCollectives>(*ranks.split(0, 0), device, library);
  } catch (const Error& e) {
    failure = e.what();
  }
  const auto joined = from_all(ranks, static_cast<std::uint8_t>(mine != nullptr));
  const auto missing = std::ranges::find(joined, 0);
  if (missing == joined.end()) return {std::move(mine), ""};
  if (mine) mine->abandon();
  mine.reset();
  const Rank rank{static_cast<int>(missing - joined.begin())};
  const std::string words = broadcast_message(ranks, rank, failure);
  return staged(ranks, settings,
                name(static_cast<std::size_t>(rank.value)) + " cannot use NCCL: " + words, rank);
}

}  // namespace

NcclVerdict nccl_verdict(std::span<const NcclOffer> offers) {
  const auto version = offers[0].version;
  for (std::size_t i = 0; i < offers.size(); ++i)
    if (!offers[i].has_device()) return {name(i) + " has no data on a GPU"};
  for (std::size_t i = 0; i < offers.size(); ++i)
    if (offers[i].has_several)
      return {name(i) + " has data on several GPUs, and NCCL takes one for each rank"};
  for (std::size_t i = 0; i < offers.size(); ++i)
    if (offers[i].version == 0) return {name(i) + " cannot load NCCL", Rank{static_cast<int>(i)}};
  for (std::size_t i = 1; i < offers.size(); ++i)
    if (offers[i].version != version)
      return {"rank 0 has NCCL " + version_text(version) + ", " + name(i) + " has " +
              version_text(offers[i].version)};
  const bool is_insisted = offers[0].wish == DevicePath::nccl;
  return {is_insisted ? "" : shared_device(offers).value_or("")};
}

ChosenPath choose_path(Communicator& ranks, std::span<const std::shared_ptr<Device>> devices,
                       const DeviceSettings& settings) {
  const auto device = devices.empty() ? nullptr : devices.front();
  const bool is_wanted = device && settings.path != DevicePath::staged;
  const Loaded loaded = is_wanted ? load(*device, settings) : Loaded{};
  const auto offers =
      from_all(ranks, NcclOffer{.version = loaded.version,
                                .device = device ? device->identity() : DeviceIdentity{},
                                .has_several = devices.size() > 1,
                                .wish = settings.path});
  check_same_wish(ranks, offers);
  if (settings.path == DevicePath::staged) return {nullptr, "FASTGPU_COMM_DEVICE is staged"};
  const auto has_none = [](const NcclOffer& offer) { return !offer.has_device(); };
  if (std::ranges::all_of(offers, has_none)) return {nullptr, "no rank has data on a GPU"};
  NcclVerdict verdict = nccl_verdict(offers);
  if (verdict.lacks_nccl)
    verdict.against += ": " + broadcast_message(ranks, *verdict.lacks_nccl, loaded.failure);
  if (!verdict.against.empty()) return staged(ranks, settings, verdict.against, verdict.lacks_nccl);
  return join(ranks, device, loaded.library, settings);
}

}  // namespace fastgpu::comm::gpu
