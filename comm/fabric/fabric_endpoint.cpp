#include "comm/fabric/fabric_endpoint.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/fabric_providers.hpp"
#include "base/join.hpp"
#include "base/names.hpp"
#include "base/rdma_devices.hpp"
#include "base/units.hpp"
#include "comm/common/process_environment.hpp"
#include "comm/fabric/fabric_library.hpp"
#include "comm/fabric/left_files.hpp"
#include "comm/fabric/shm_scope.hpp"

namespace fastgpu::comm::fabric {
namespace {

/// How often an endpoint that is busy is tried. The provider shm names its files by the
/// process id and a number: it refuses a file that a killed process of the same id has left,
/// removes it, and takes the next number when it is asked again.
constexpr int kOpenTries = 16;

constexpr const char* kNoProvider =
    "libfabric offers no provider for it: install the one for the device (Debian, Ubuntu: "
    "ibverbs-providers; EFA: the libfabric of its installer)";

std::string name_of(const FabricOffer& offer) {
  return std::string(offer.provider) + " on " + offer.device;
}

/// Returns how to lock more memory; empty if this process may lock all.
std::string lock_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return remedy_for_lockable(Bytes{limit.rlim_cur}) + ", or set FASTGPU_COMM_FABRIC=off";
}

/// Returns the error of an operation that locks memory or opens files, with the limit if that may
/// be the cause.
Error limit_error(const FabricLibrary& library, int error, const std::string& doing) {
  const std::string text = doing + ": libfabric: " + library.describe(error);
  if (error == EMFILE) return system_error(doing, error);
  const std::string limit = lock_limit();
  const bool is_limit = (error == ENOMEM || error == EPERM || error == EAGAIN) && !limit.empty();
  return {is_limit ? ErrorKind::capacity : ErrorKind::local, is_limit ? text + "; " + limit : text};
}

class LibraryRegistration final : public FabricRegistration {
 public:
  LibraryRegistration(FabricLibrary library, std::span<std::byte> bytes) : library_(library) {
    memory = bytes;
  }
  LibraryRegistration(const LibraryRegistration&) = delete;
  LibraryRegistration& operator=(const LibraryRegistration&) = delete;
  ~LibraryRegistration() override {
    if (region != nullptr) library_->unregister(region);
  }

 private:
  FabricLibrary library_;
};

PortBytes port_bytes(const FabricPart& part) {
  Region* const region = part.registration == nullptr ? nullptr : part.registration->region;
  return {part.bytes.data(), part.bytes.size(), region};
}

class LibraryEndpoint final : public FabricEndpoint {
 public:
  LibraryEndpoint(FabricLibrary library, Port* port, const PortTraits& port_traits, Traits traits)
      : library_(library), port_(port), port_traits_(port_traits), traits_(std::move(traits)) {}
  LibraryEndpoint(const LibraryEndpoint&) = delete;
  LibraryEndpoint& operator=(const LibraryEndpoint&) = delete;
  ~LibraryEndpoint() override { library_->close(port_); }

  const Traits& traits() const noexcept override { return traits_; }
  std::vector<std::byte> address() const override {
    const auto all = std::as_bytes(std::span(port_traits_.address, port_traits_.address_bytes));
    return {all.begin(), all.end()};
  }

  std::optional<PeerNumber> add_peer(std::span<const std::byte> address) override {
    // The provider reads as much as its own addresses have.
    if (address.size() != port_traits_.address_bytes) return std::nullopt;
    PeerNumber number = 0;
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(address.data());
    if (library_->add_peer(port_, bytes, &number) != 0) return std::nullopt;
    return number;
  }

  using FabricEndpoint::register_memory;
  std::unique_ptr<FabricRegistration> register_memory(std::span<std::byte> memory,
                                                      const MemoryLocation& location) override {
    auto made = std::make_unique<LibraryRegistration>(library_, memory);
    const int error = library_->register_memory(port_, memory.data(), memory.size(), &location,
                                                &made->region, &made->place);
    if (error != 0 && location.kind != MemoryKind::host)
      throw Error(ErrorKind::local, "libfabric: " + library_.describe(error));
    if (error != 0)
      throw limit_error(library_, error,
                        "registering " + to_string(Bytes{memory.size()}) + " of memory with " +
                            traits_.provider + " on " + traits_.device);
    return made;
  }

  bool inject(PeerNumber peer, std::span<const std::byte> bytes) override {
    return has_begun(library_->inject(port_, peer, bytes.data(), bytes.size()), "fi_inject");
  }
  bool send(PeerNumber peer, const FabricPart& part, OperationSpace& operation) override {
    const PortBytes bytes = port_bytes(part);
    return has_begun(library_->send(port_, peer, &bytes, &operation), "fi_send");
  }
  bool receive(const FabricPart& part, OperationSpace& operation) override {
    const PortBytes bytes = port_bytes(part);
    return has_begun(library_->receive(port_, &bytes, &operation), "fi_recv");
  }
  bool send_tagged(PeerNumber peer, std::uint64_t tag, const FabricPart& part,
                   OperationSpace& operation) override {
    const PortBytes bytes = port_bytes(part);
    return has_begun(library_->send_tagged(port_, peer, tag, &bytes, &operation), "fi_tsend");
  }
  bool receive_tagged(std::uint64_t tag, const FabricPart& part,
                      OperationSpace& operation) override {
    const PortBytes bytes = port_bytes(part);
    return has_begun(library_->receive_tagged(port_, tag, &bytes, &operation), "fi_trecv");
  }
  bool write(PeerNumber peer, const FabricPart& part, const RemotePlace& to, WriteKind kind,
             std::uint32_t data, OperationSpace& operation) override {
    const PortBytes bytes = port_bytes(part);
    return has_begun(library_->write(port_, peer, &bytes, &to, kind, data, &operation), "fi_write");
  }
  void cancel(OperationSpace& operation) override { library_->cancel(port_, &operation); }

  std::size_t poll(std::span<PortCompletion> completions) override {
    std::size_t count = 0;
    check(library_->poll(port_, completions.data(), completions.size(), &count), "fi_cq_read");
    return count;
  }
  std::string describe(int error) const override { return library_.describe(error); }

  bool may_sleep() override { return library_->may_sleep(port_) == 0; }
  int descriptor() const noexcept override { return port_traits_.descriptor; }
  void stop() noexcept override { library_->stop(port_); }

 private:
  void check(int error, std::string_view doing) const {
    library_.check(error, traits_.provider + ": " + std::string(doing));
  }
  bool has_begun(int error, std::string_view doing) const {
    if (error == kBusy) return false;
    check(error, doing);
    return true;
  }

  FabricLibrary library_;
  Port* port_;
  PortTraits port_traits_;
  Traits traits_;
};

/// Returns whether memory of GPUs may have to be registered: FI_HMEM costs something without them.
bool wants_device_memory(const FabricSettings& settings) {
  return settings.gpudirect == GpuDirect::always ||
         (settings.gpudirect == GpuDirect::automatic && !gpus_of_machine().empty());
}

/// The networks that libfabric has found. The destructor frees its list of them.
class Found {
 public:
  Found(const FabricLibrary& library, const FabricSettings& settings, int ranks)
      : library_(library) {
    const FabricSearch search{
        .provider = settings.provider.empty() ? nullptr : settings.provider.c_str(),
        .ranks = ranks,
        .wants_device_memory = wants_device_memory(settings) ? std::uint8_t{1} : std::uint8_t{0}};
    library.check(library->find(&search, &offers_), "looking for networks");
    for (std::size_t i = 0; i < library->count(offers_); ++i)
      all_.push_back(*library->offer(offers_, i));
  }
  Found(const Found&) = delete;
  Found& operator=(const Found&) = delete;
  ~Found() { library_->forget(offers_); }

  const Offers* offers() const noexcept { return offers_; }
  const std::vector<FabricOffer>& all() const noexcept { return all_; }

 private:
  FabricLibrary library_;
  Offers* offers_ = nullptr;
  std::vector<FabricOffer> all_;
};

/// Returns why this machine's devices carry no messages, and the remedy. Empty if it has none and
/// need not.
std::string lack_of(const RdmaDevices& devices, const FabricSettings& settings) {
  if (devices.ports.empty()) return settings.is_required ? std::string(kNoFabricAsked) : "";
  const std::string obstacle = obstacle_of(devices);
  return obstacle.empty() ? kNoProvider : obstacle;
}

/// Returns whether only a device of hardware will do, whatever the provider.
bool wants_hardware(const FabricSettings& settings) noexcept {
  return settings.provider.empty() && settings.need != FabricNeed::must;
}

/// Returns the devices that there are in place of the missing one, "net on eth0, net on lo".
std::string other_devices(const FabricSettings& settings, const Found& found) {
  std::set<std::string> names;
  for (const FabricOffer& offer : found.all())
    if (offer.is_hardware != 0 || !wants_hardware(settings)) names.insert(name_of(offer));
  return joined(names);
}

/// Returns the providers that there are in place of the one that the user has named, "net, shm".
std::string other_providers(FabricSettings settings, const FabricLibrary& library, int ranks) {
  if (settings.provider.empty()) return {};
  settings.provider.clear();
  std::set<std::string> names;
  const Found all(library, settings, ranks);
  for (const FabricOffer& offer : all.all())
    names.insert(offer.provider);
  return joined(names);
}

/// Returns the error for a provider or device that the user has named, and that is not there.
Error nothing_found(const FabricSettings& settings, const Found& found,
                    const FabricLibrary& library, int ranks, const RdmaDevices& devices) {
  std::string text = wants_hardware(settings)    ? "no RDMA device"
                     : settings.provider.empty() ? "no provider of libfabric"
                                                 : "no '" + printable(settings.provider) + "'";
  if (!settings.device.empty())
    text += (wants_hardware(settings) ? " '" : " on '") + printable(settings.device) + "'";
  text += " is usable here (FASTGPU_COMM_FABRIC, FASTGPU_COMM_FABRIC_DEVICE)";
  const std::string others = other_devices(settings, found);
  const std::string there_is = others.empty() ? other_providers(settings, library, ranks) : others;
  if (!there_is.empty()) text += ": there is " + there_is;
  if (others.empty() && !devices.ports.empty() && !is_software_provider(settings.provider))
    text += "; " + lack_of(devices, settings);
  if (wants_hardware(settings))
    text += "; a provider in software is taken if FASTGPU_COMM_FABRIC names it";
  if (const auto wanted = process_environment()("FI_PROVIDER"))
    text += "; FI_PROVIDER is '" + printable(*wanted) + "', which may hide it";
  return {ErrorKind::not_found, text};
}

Put put_of(const FabricOffer& offer, const FabricSettings& settings, std::uint32_t version) {
  if (!settings.put) return best_put(offer, version);
  if (can(offer, *settings.put)) return *settings.put;
  throw Error(ErrorKind::usage, "FASTGPU_COMM_FABRIC_PUT is '" +
                                    std::string(name_of(*settings.put)) + "', which " +
                                    name_of(offer) + " cannot do");
}

std::unique_ptr<FabricEndpoint> open_offer(const FabricLibrary& library, const Found& found,
                                           std::size_t index, const FabricSettings& settings,
                                           const FabricSite& site) {
  const FabricOffer& offer = found.all()[index];
  Traits traits{.provider = offer.provider,
                .device = offer.device,
                .protocol = offer.protocol,
                .put = put_of(offer, settings, library->library_version()),
                .is_hardware = offer.is_hardware != 0};
  Port* port = nullptr;
  PortTraits port_traits;
  const bool is_shm = std::string_view(offer.provider) == "shm";
  if (is_shm) remove_left_files();
  if (is_shm) traits.scope = own_shm_scope();
  int error = EBUSY;
  for (int tries = 0; error == EBUSY && tries < kOpenTries; ++tries)
    error = library->open(found.offers(), index, site.ranks, &port, &port_traits);
  if (error != 0) {
    const Error failure = limit_error(library, error, "opening " + name_of(offer));
    if (!is_shm) throw Error(failure);
    throw Error(failure.kind(), std::string(failure.what()) +
                                    "; its files are in /dev/shm: see that this rank may write "
                                    "there, and that there is room [df /dev/shm]");
  }
  traits.needs_local = port_traits.needs_local != 0;
  traits.takes_device_memory = offer.takes_device_memory != 0;
  traits.inject_bytes = port_traits.inject_bytes;
  traits.receives = port_traits.receives;
  traits.most_bytes = std::min<std::uint64_t>(port_traits.most_bytes, SIZE_MAX);
  return std::make_unique<LibraryEndpoint>(library, port, port_traits, std::move(traits));
}

/// Opens what the user has asked for.
OpenedEndpoint open_wanted(const FabricSettings& settings, const FabricSite& site) {
  const FabricLibrary library(settings.plugin);
  const Found found(library, settings, site.ranks);
  const RdmaDevices devices = rdma_devices();
  const std::string nearest =
      nearest_device(devices, neighbour_of(settings.gpu, current_gpu()), site.turn);
  const auto index = choose(found.all(), settings, site.near, nearest);
  if (!index) throw nothing_found(settings, found, library, site.ranks, devices);
  const bool is_named = !settings.provider.empty() || !settings.device.empty();
  const bool is_hardware = found.all()[*index].is_hardware != 0;
  return {.endpoint = open_offer(library, found, *index, settings, site),
          .lack = is_named || is_hardware ? "" : lack_of(devices, settings)};
}

/// Opens an offer that the user has not named. One that cannot be opened, such as that of a device
/// that has just gone, is missing; too little lockable memory stays an error.
OpenedEndpoint open_welcome(const FabricLibrary& library, const Found& found, std::size_t index,
                            const FabricSettings& settings, const FabricSite& site) try {
  return {open_offer(library, found, index, settings, site)};
} catch (const Error& e) {
  if (e.kind() != ErrorKind::local) throw;
  return {.lack = e.what()};
}

}  // namespace

OpenedEndpoint open_endpoint(const FabricSettings& settings, const FabricSite& site) {
  if (settings.need == FabricNeed::none) return {};
  if (is_asked_for(settings)) return open_wanted(settings, site);
  // A node without such devices loads nothing.
  const RdmaDevices devices = rdma_devices();
  if (devices.ports.empty()) return {.lack = lack_of(devices, settings)};
  std::optional<FabricLibrary> library;
  try {
    library.emplace(settings.plugin);
  } catch (const Error& e) {
    return {.lack = e.what()};
  }
  const Found found(*library, settings, site.ranks);
  const std::string nearest =
      nearest_device(devices, neighbour_of(settings.gpu, current_gpu()), site.turn);
  if (const auto index = choose(found.all(), settings, site.near, nearest))
    return open_welcome(*library, found, *index, settings, site);
  return {.lack = lack_of(devices, settings)};
}

}  // namespace fastgpu::comm::fabric
