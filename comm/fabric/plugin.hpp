// The interface of libfastgpu_comm_fabric.so: the small part of libfabric that we use, behind
// pointers to functions. Neither our library nor its programs need libfabric.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fastgpu::comm::fabric {

/// The interface's version, the same on both sides.
constexpr std::uint32_t kPluginVersion = 2;

/// The name of the plugin's one symbol, a function of type `FabricPluginEntry`.
constexpr const char* kPluginEntry = "fastgpu_comm_fabric_plugin";

// Defined by the plugin.
struct Offers;  ///< The ways into networks that libfabric has found.
struct Port;    ///< An open endpoint.
struct Region;  ///< Registered memory.

/// The search of offers. Strings may be null: any.
struct FabricSearch {
  const char* provider = nullptr;
  int ranks = 1;                         ///< The number of ranks that an endpoint speaks to.
  std::uint8_t wants_device_memory = 0;  ///< Ways that take memory of GPUs are preferred.
};

/// One way into a network: a provider on a device with an address.
struct FabricOffer {
  char provider[64] = {};  ///< "verbs;ofi_rxm".
  char device[64] = {};    ///< "mlx5_0", "eth0".
  char address[64] = {};   ///< "10.0.0.1"; empty for another kind of address.
  std::uint32_t protocol = 0;
  std::uint8_t is_hardware = 0;
  std::uint8_t has_writes = 0;
  std::uint8_t data_bytes = 0;        ///< Bytes that a write may carry to the other side's queue.
  std::uint8_t orders_sends = 0;      ///< A send is received after all writes before it.
  std::uint8_t reports_delivery = 0;  ///< A write may be reported once its bytes are in place.
  std::uint8_t takes_device_memory = 0;  ///< Memory of GPUs may be registered (FI_HMEM).
};

/// The most bytes of an address.
constexpr std::size_t kMaxAddress = 96;

/// The properties of an open endpoint.
struct PortTraits {
  std::uint8_t address[kMaxAddress] = {};
  std::size_t address_bytes = 0;
  std::size_t inject_bytes = 0;    ///< The longest message of `inject`.
  std::size_t receives = 0;        ///< Receives that may be posted at a time.
  std::uint64_t most_bytes = 0;    ///< The longest message.
  std::uint8_t needs_local = 0;    ///< Memory must be registered for any use.
  std::uint8_t has_addresses = 0;  ///< Writes name addresses, not offsets in a region.
  int descriptor = -1;             ///< Readable once something happens; -1: none.
};

enum class MemoryKind : std::uint8_t { host, cuda };

/// The place of memory in a machine.
struct MemoryLocation {
  MemoryKind kind = MemoryKind::host;
  int device = 0;  ///< The number of the GPU, as CUDA has it in this process.

  friend bool operator==(const MemoryLocation&, const MemoryLocation&) = default;
};

/// The memory of the provider for one operation, until its completion is read.
struct OperationSpace {
  void* space[8] = {};
};

enum class CompletionKind : std::uint8_t { sent, received, data };

struct PortCompletion {
  OperationSpace* operation = nullptr;  ///< Null for `data`.
  CompletionKind kind = CompletionKind::sent;
  std::uint32_t data = 0;   ///< The number that a write of another rank carried.
  std::uint64_t bytes = 0;  ///< The length of what was received.
  int error = 0;            ///< The operation failed; for `describe`.
};

/// The bytes of one operation.
struct PortBytes {
  void* data = nullptr;
  std::size_t bytes = 0;
  Region* region = nullptr;  ///< The registration of their memory, or null.
};

/// The place in another rank's memory.
struct RemotePlace {
  std::uint64_t address = 0;
  std::uint64_t key = 0;
};

enum class WriteKind : std::uint8_t { plain, with_data, until_delivered };

/// The error number that means: now the queue is full, later it may not be.
constexpr int kBusy = 11;

/// The plugin's functions. Those with a result return 0, or a number that `describe` knows. One
/// thread at a time for each port.
struct FabricFunctions {
  std::uint32_t version = kPluginVersion;
  void (*describe)(int error, char* text, std::size_t room) = nullptr;
  /// The version of libfabric, 117 for 1.17.
  std::uint32_t (*library_version)() = nullptr;
  int (*find)(const FabricSearch* search, Offers** found) = nullptr;
  std::size_t (*count)(const Offers* offers) = nullptr;
  const FabricOffer* (*offer)(const Offers* offers, std::size_t index) = nullptr;
  void (*forget)(Offers* offers) = nullptr;

  int (*open)(const Offers* offers, std::size_t index, int ranks, Port** made,
              PortTraits* traits) = nullptr;
  /// Ends all operations: their memory is used no more. Nothing but `unregister` and `close` may
  /// follow.
  void (*stop)(Port* port) = nullptr;
  /// The regions of the port have been unregistered before.
  void (*close)(Port* port) = nullptr;
  int (*add_peer)(Port* port, const std::uint8_t* address, std::uint64_t* peer) = nullptr;

  int (*register_memory)(Port* port, void* data, std::size_t bytes, const MemoryLocation* location,
                         Region** made, RemotePlace* place) = nullptr;
  void (*unregister)(Region* region) = nullptr;

  /// Sends a copy of the bytes; no completion follows.
  int (*inject)(Port* port, std::uint64_t peer, const void* data, std::size_t bytes) = nullptr;
  int (*send)(Port* port, std::uint64_t peer, const PortBytes* bytes,
              OperationSpace* operation) = nullptr;
  int (*receive)(Port* port, const PortBytes* bytes, OperationSpace* operation) = nullptr;
  int (*send_tagged)(Port* port, std::uint64_t peer, std::uint64_t tag, const PortBytes* bytes,
                     OperationSpace* operation) = nullptr;
  int (*receive_tagged)(Port* port, std::uint64_t tag, const PortBytes* bytes,
                        OperationSpace* operation) = nullptr;
  int (*write)(Port* port, std::uint64_t peer, const PortBytes* bytes, const RemotePlace* to,
               WriteKind kind, std::uint32_t data, OperationSpace* operation) = nullptr;
  /// Gives up an operation; its completion follows, with an error, if the provider can do that.
  void (*cancel)(Port* port, OperationSpace* operation) = nullptr;

  /// Moves data, and reads at most `room` completions.
  int (*poll)(Port* port, PortCompletion* completions, std::size_t room,
              std::size_t* count) = nullptr;
  /// Prepares for a sleep on the descriptor; kBusy: there is something to `poll` first.
  int (*may_sleep)(Port* port) = nullptr;
};

using FabricPluginEntry = const FabricFunctions* (*)();

}  // namespace fastgpu::comm::fabric
