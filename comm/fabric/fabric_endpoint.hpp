// An endpoint of a network that moves messages, and writes into the memory of others, by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/fabric/fabric_settings.hpp"
#include "comm/fabric/plugin.hpp"

namespace fastgpu::comm::fabric {

/// The number of another endpoint, as this one knows it.
using PeerNumber = std::uint64_t;

/// Memory that the network may use, for as long as this lives.
class FabricRegistration {
 public:
  virtual ~FabricRegistration() = default;

  std::span<std::byte> memory{};
  RemotePlace place{};       ///< The place of its first byte for other ranks.
  Region* region = nullptr;  ///< The plugin's.
};

/// Bytes that an operation sends or receives.
struct FabricPart {
  std::span<std::byte> bytes{};  ///< Only read by operations that send.
  const FabricRegistration* registration = nullptr;
};

struct Traits {
  std::string provider{};
  std::string device{};
  std::uint32_t protocol = 0;
  /// A number of the processes that a provider for one host reaches, all of which have the same
  /// one. 0 for providers that reach other hosts.
  std::uint64_t scope = 0;
  Put put = Put::none;
  bool is_hardware = false;
  bool needs_local = false;          ///< Memory of any operation must be registered.
  bool takes_device_memory = false;  ///< Memory of GPUs can be registered, if the build allows it.
  std::size_t inject_bytes = 0;
  std::size_t receives = 0;  ///< Receives that may be posted at a time.
  std::size_t most_bytes = SIZE_MAX;
};

/// An open endpoint. Functions that begin an operation return false where its queue is full; they
/// throw ErrorKind::local, with libfabric's description. One thread at a time.
class FabricEndpoint {
 public:
  virtual ~FabricEndpoint() = default;

  virtual const Traits& traits() const noexcept = 0;
  virtual std::vector<std::byte> address() const = 0;

  /// Returns the number of the endpoint with that address; absent if it cannot be one.
  virtual std::optional<PeerNumber> add_peer(std::span<const std::byte> address) = 0;

  /// Throws ErrorKind::capacity if the limit of locked memory is too low, and ErrorKind::local if
  /// memory of a GPU is refused.
  virtual std::unique_ptr<FabricRegistration> register_memory(std::span<std::byte> memory,
                                                              const MemoryLocation& location) = 0;
  std::unique_ptr<FabricRegistration> register_memory(std::span<std::byte> memory) {
    return register_memory(memory, {});
  }

  virtual bool inject(PeerNumber peer, std::span<const std::byte> bytes) = 0;
  virtual bool send(PeerNumber peer, const FabricPart& part, OperationSpace& operation) = 0;
  virtual bool receive(const FabricPart& part, OperationSpace& operation) = 0;
  virtual bool send_tagged(PeerNumber peer, std::uint64_t tag, const FabricPart& part,
                           OperationSpace& operation) = 0;
  virtual bool receive_tagged(std::uint64_t tag, const FabricPart& part,
                              OperationSpace& operation) = 0;

  /// `data` goes with WriteKind::with_data.
  virtual bool write(PeerNumber peer, const FabricPart& part, const RemotePlace& to, WriteKind kind,
                     std::uint32_t data, OperationSpace& operation) = 0;
  virtual void cancel(OperationSpace& operation) = 0;

  /// Moves data, and returns how many completions were read.
  virtual std::size_t poll(std::span<PortCompletion> completions) = 0;
  virtual std::string describe(int error) const = 0;

  /// Returns whether a sleep on `descriptor` ends once something happens.
  virtual bool may_sleep() = 0;
  virtual int descriptor() const noexcept = 0;  ///< -1: it has none.

  /// Ends all operations: their memory is used no more.
  virtual void stop() noexcept = 0;
};

/// The surroundings of an endpoint.
struct FabricSite {
  int ranks = 1;       ///< The number of ranks of the job.
  std::string near{};  ///< This machine's address on the way to the others; may be empty.
  int turn = 0;        ///< Ranks of a machine take devices in turn that are alike to them.
};

/// The reason for no endpoint where nothing has asked for one.
constexpr std::string_view kNoFabricAsked =
    "FASTGPU_COMM_FABRIC is not set, and the machine has no RDMA device (/sys/class/infiniband)";

struct OpenedEndpoint {
  std::unique_ptr<FabricEndpoint> endpoint{};  ///< Null where a fabric is only welcome and missing.
  /// The reason why no RDMA device carries messages, and the remedy. It is set on a machine that
  /// has a device, or if one is required: without an endpoint, or with one in software that the
  /// user has not named. Otherwise it is empty.
  std::string lack{};
};

/// Opens the best endpoint of this machine. Throws ErrorKind::usage, ErrorKind::not_found,
/// ErrorKind::capacity or ErrorKind::local with what to do.
OpenedEndpoint open_endpoint(const FabricSettings& settings, const FabricSite& site);

}  // namespace fastgpu::comm::fabric
