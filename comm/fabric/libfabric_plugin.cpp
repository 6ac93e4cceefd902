// libfastgpu_comm_fabric.so: the one part of us that is linked to libfabric. No exception leaves
// it.
#include "comm/fabric/plugin.hpp"

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/fabric/libfabric_offers.hpp"

namespace fastgpu::comm::fabric {

// Opaque outside of this file, but with a name there.

/// Closes a handle of libfabric, the last opened first.
template <class Handle>
class Fid {
 public:
  Fid() = default;
  Fid(const Fid&) = delete;
  Fid& operator=(const Fid&) = delete;
  ~Fid() { close(); }
  Handle** place() noexcept { return &handle_; }
  Handle* operator->() const noexcept { return handle_; }
  Handle* get() const noexcept { return handle_; }
  void close() noexcept {
    if (handle_ != nullptr) ::fi_close(&handle_->fid);
    handle_ = nullptr;
  }

 private:
  Handle* handle_ = nullptr;
};

struct Port {
  Fid<fid_fabric> fabric;
  Fid<fid_domain> domain;
  Fid<fid_av> peers;
  Fid<fid_cq> queue;
  Fid<fid_ep> endpoint;
  std::uint64_t mr_mode = 0;
  std::uint64_t next_key = 1;
  bool can_sleep = false;
  bool has_writes = false;
  bool takes_device_memory = false;
};

struct Region {
  Fid<fid_mr> mr;
};

namespace {

constexpr std::size_t kQueueLength = 8192;

static_assert(sizeof(OperationSpace) >= sizeof(fi_context2));
static_assert(kBusy == FI_EAGAIN);

void describe(int error, char* text, std::size_t room) {
  const std::string_view words = ::fi_strerror(error);
  const std::size_t length = std::min(words.size(), room - 1);
  std::memcpy(text, words.data(), length);
  text[length] = '\0';
}

std::uint32_t library_version() {
  const std::uint32_t version = ::fi_version();
  return FI_MAJOR(version) * 100 + FI_MINOR(version);
}

int error_of(std::int64_t result) noexcept {
  return result < 0 ? static_cast<int>(-result) : 0;
}

// ---- endpoints ----

int open_queue(Port& port) {
  fi_cq_attr attributes{};
  attributes.format = FI_CQ_FORMAT_DATA;
  attributes.size = kQueueLength;
  attributes.wait_obj = FI_WAIT_FD;
  if (::fi_cq_open(port.domain.get(), &attributes, port.queue.place(), nullptr) == 0) {
    port.can_sleep = true;
    return 0;
  }
  attributes.wait_obj = FI_WAIT_NONE;
  int error = ::fi_cq_open(port.domain.get(), &attributes, port.queue.place(), nullptr);
  if (error == 0) return 0;
  attributes.size = 0;  // The provider's own length.
  error = ::fi_cq_open(port.domain.get(), &attributes, port.queue.place(), nullptr);
  return error_of(error);
}

int open_peers(Port& port, const fi_info& info, int ranks) {
  fi_av_attr attributes{};
  attributes.type =
      info.domain_attr->av_type == FI_AV_UNSPEC ? FI_AV_TABLE : info.domain_attr->av_type;
  attributes.count = static_cast<std::size_t>(ranks);
  return error_of(::fi_av_open(port.domain.get(), &attributes, port.peers.place(), nullptr));
}

int enable(Port& port, fi_info& info) {
  if (const int error = ::fi_endpoint(port.domain.get(), &info, port.endpoint.place(), nullptr))
    return error_of(error);
  fid_ep* const endpoint = port.endpoint.get();
  if (const int error = ::fi_ep_bind(endpoint, &port.queue->fid, FI_TRANSMIT | FI_RECV))
    return error_of(error);
  if (const int error = ::fi_ep_bind(endpoint, &port.peers->fid, 0)) return error_of(error);
  return error_of(::fi_enable(endpoint));
}

int describe_port(Port& port, const fi_info& info, PortTraits& traits) {
  std::size_t length = kMaxAddress;
  if (const int error = ::fi_getname(&port.endpoint->fid, traits.address, &length))
    return error_of(error);
  traits.address_bytes = length;
  traits.inject_bytes = info.tx_attr->inject_size;
  traits.receives = info.rx_attr->size;
  traits.most_bytes = info.ep_attr->max_msg_size;
  traits.needs_local = (port.mr_mode & FI_MR_LOCAL) != 0 ? 1 : 0;
  traits.has_addresses = (port.mr_mode & FI_MR_VIRT_ADDR) != 0 ? 1 : 0;
  if (!port.can_sleep) return 0;
  if (::fi_control(&port.queue->fid, FI_GETWAIT, &traits.descriptor) != 0) {
    traits.descriptor = -1;
    port.can_sleep = false;
  }
  return 0;
}

/// Takes back an offer that a provider does not need: EFA turns its cache of registrations off for
/// programs that would register all memory themselves.
void leave_caching(fi_info& info) {
  if (std::strcmp(info.fabric_attr->prov_name, "efa") == 0)
    info.domain_attr->mr_mode &= ~FI_MR_LOCAL;
}

/// Gives an endpoint of the provider shm a name that says the PID namespace too. By default it is
/// the process id, which a process in another namespace with the same /dev/shm may have as well:
/// where both make the file of that name at once, libfabric 1.17 crashes.
void name_by_namespace(fi_info& info) {
  if (std::strcmp(info.fabric_attr->prov_name, "shm") != 0) return;
  struct stat space {};
  if (::stat("/proc/self/ns/pid", &space) != 0) return;
  const std::string name =
      "fi_shm://" + std::to_string(::getpid()) + "." + std::to_string(space.st_ino);
  char* const copy = ::strdup(name.c_str());
  if (copy == nullptr) return;
  std::free(info.src_addr);
  info.src_addr = copy;
  info.src_addrlen = name.size() + 1;
}

int open(const Offers* offers, std::size_t index, int ranks, Port** made, PortTraits* traits) try {
  fi_info& info = *offers->all[index].info;
  leave_caching(info);
  name_by_namespace(info);
  auto port = std::make_unique<Port>();
  port->mr_mode = static_cast<std::uint64_t>(info.domain_attr->mr_mode);
  port->has_writes = (info.caps & FI_RMA) != 0;
  port->takes_device_memory = (info.caps & FI_HMEM) != 0;
  if (const int error = ::fi_fabric(info.fabric_attr, port->fabric.place(), nullptr))
    return error_of(error);
  if (const int error = ::fi_domain(port->fabric.get(), &info, port->domain.place(), nullptr))
    return error_of(error);
  if (const int error = open_queue(*port)) return error;
  if (const int error = open_peers(*port, info, ranks)) return error;
  if (const int error = enable(*port, info)) return error;
  if (const int error = describe_port(*port, info, *traits)) return error;
  *made = port.release();
  return 0;
} catch (...) {
  return FI_ENOMEM;
}

void stop(Port* port) {
  port->endpoint.close();
}

void close(Port* port) {
  delete port;
}

int add_peer(Port* port, const std::uint8_t* address, std::uint64_t* peer) {
  return ::fi_av_insert(port->peers.get(), address, 1, peer, 0, nullptr) == 1 ? 0 : FI_EINVAL;
}

// ---- memory ----

int register_at(const Port& port, const iovec& memory, std::uint64_t access, std::uint64_t key,
                const MemoryLocation& location, fid_mr** made) {
  fi_mr_attr attributes{};
  attributes.mr_iov = &memory;
  attributes.iov_count = 1;
  attributes.access = access;
  attributes.requested_key = key;
  attributes.iface = FI_HMEM_SYSTEM;
  if (location.kind == MemoryKind::cuda) {
    attributes.iface = FI_HMEM_CUDA;
    attributes.device.cuda = location.device;
  }
  return ::fi_mr_regattr(port.domain.get(), &attributes, 0, made);
}

int register_memory(Port* port, void* data, std::size_t bytes, const MemoryLocation* location,
                    Region** made, RemotePlace* place) try {
  if (location->kind != MemoryKind::host && !port->takes_device_memory) return FI_EOPNOTSUPP;
  auto region = std::make_unique<Region>();
  std::uint64_t access = FI_SEND | FI_RECV;
  if (port->has_writes) access |= FI_WRITE | FI_REMOTE_WRITE;
  const std::uint64_t key = (port->mr_mode & FI_MR_PROV_KEY) != 0 ? 0 : port->next_key++;
  const int error = port->takes_device_memory ? register_at(*port, {data, bytes}, access, key,
                                                            *location, region->mr.place())
                                              : ::fi_mr_reg(port->domain.get(), data, bytes, access,
                                                            0, key, 0, region->mr.place(), nullptr);
  if (error != 0) return error_of(error);
  if ((port->mr_mode & FI_MR_ENDPOINT) != 0) {
    if (const int failed = ::fi_mr_bind(region->mr.get(), &port->endpoint->fid, 0))
      return error_of(failed);
    if (const int failed = ::fi_mr_enable(region->mr.get())) return error_of(failed);
  }
  const bool has_addresses = (port->mr_mode & FI_MR_VIRT_ADDR) != 0;
  *place = {has_addresses ? reinterpret_cast<std::uintptr_t>(data) : 0,
            ::fi_mr_key(region->mr.get())};
  *made = region.release();
  return 0;
} catch (...) {
  return FI_ENOMEM;
}

void unregister(Region* region) {
  delete region;
}

// ---- operations ----

void* descriptor_of(const PortBytes& bytes) {
  return bytes.region == nullptr ? nullptr : ::fi_mr_desc(bytes.region->mr.get());
}

int inject(Port* port, std::uint64_t peer, const void* data, std::size_t bytes) {
  return error_of(::fi_inject(port->endpoint.get(), data, bytes, peer));
}

int send(Port* port, std::uint64_t peer, const PortBytes* bytes, OperationSpace* operation) {
  return error_of(::fi_send(port->endpoint.get(), bytes->data, bytes->bytes, descriptor_of(*bytes),
                            peer, operation));
}

int receive(Port* port, const PortBytes* bytes, OperationSpace* operation) {
  return error_of(::fi_recv(port->endpoint.get(), bytes->data, bytes->bytes, descriptor_of(*bytes),
                            FI_ADDR_UNSPEC, operation));
}

int send_tagged(Port* port, std::uint64_t peer, std::uint64_t tag, const PortBytes* bytes,
                OperationSpace* operation) {
  return error_of(::fi_tsend(port->endpoint.get(), bytes->data, bytes->bytes, descriptor_of(*bytes),
                             peer, tag, operation));
}

int receive_tagged(Port* port, std::uint64_t tag, const PortBytes* bytes,
                   OperationSpace* operation) {
  return error_of(::fi_trecv(port->endpoint.get(), bytes->data, bytes->bytes, descriptor_of(*bytes),
                             FI_ADDR_UNSPEC, tag, 0, operation));
}

int write(Port* port, std::uint64_t peer, const PortBytes* bytes, const RemotePlace* to,
          WriteKind kind, std::uint32_t data, OperationSpace* operation) {
  fid_ep* const endpoint = port->endpoint.get();
  void* descriptor = descriptor_of(*bytes);
  if (kind == WriteKind::with_data)
    return error_of(::fi_writedata(endpoint, bytes->data, bytes->bytes, descriptor, data, peer,
                                   to->address, to->key, operation));
  if (kind == WriteKind::plain)
    return error_of(::fi_write(endpoint, bytes->data, bytes->bytes, descriptor, peer, to->address,
                               to->key, operation));
  iovec local{bytes->data, bytes->bytes};
  fi_rma_iov remote{to->address, bytes->bytes, to->key};
  fi_msg_rma message{};
  message.msg_iov = &local;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.addr = peer;
  message.rma_iov = &remote;
  message.rma_iov_count = 1;
  message.context = operation;
  return error_of(::fi_writemsg(endpoint, &message, FI_DELIVERY_COMPLETE | FI_COMPLETION));
}

void cancel(Port* port, OperationSpace* operation) {
  ::fi_cancel(&port->endpoint->fid, operation);
}

// ---- completions ----

PortCompletion completion_of(const fi_cq_data_entry& entry) {
  PortCompletion completion;
  completion.bytes = entry.len;
  // The provider sockets gives the data of a write to the completion of its sender, too.
  const bool is_own_write = (entry.flags & FI_WRITE) != 0;
  if ((entry.flags & FI_REMOTE_CQ_DATA) != 0 && (entry.flags & (FI_RMA | FI_REMOTE_WRITE)) != 0 &&
      !is_own_write) {
    completion.kind = CompletionKind::data;
    completion.data = static_cast<std::uint32_t>(entry.data);
    return completion;
  }
  completion.operation = static_cast<OperationSpace*>(entry.op_context);
  const bool is_receive = (entry.flags & FI_RECV) != 0;
  completion.kind = is_receive ? CompletionKind::received : CompletionKind::sent;
  return completion;
}

int read_failure(Port& port, PortCompletion& completion) {
  fi_cq_err_entry failure{};
  const std::int64_t result = ::fi_cq_readerr(port.queue.get(), &failure, 0);
  if (result < 0) return error_of(result);
  completion = {};
  // The provider net reports writes of others that were cut off, with a context of no operation.
  const bool is_foreign = (failure.flags & (FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA)) != 0;
  if (!is_foreign) completion.operation = static_cast<OperationSpace*>(failure.op_context);
  completion.kind =
      (failure.flags & FI_RECV) != 0 ? CompletionKind::received : CompletionKind::sent;
  completion.error = failure.err != 0 ? failure.err : FI_EOTHER;
  return 0;
}

int poll(Port* port, PortCompletion* completions, std::size_t room, std::size_t* count) {
  constexpr std::size_t kMost = 32;
  fi_cq_data_entry entries[kMost];
  *count = 0;
  const std::int64_t read = ::fi_cq_read(port->queue.get(), entries, std::min(room, kMost));
  if (read == -FI_EAGAIN) return 0;
  if (read == -FI_EAVAIL) {
    const int error = read_failure(*port, completions[0]);
    if (error == 0) *count = 1;
    return error == FI_EAGAIN ? 0 : error;
  }
  if (read < 0) return error_of(read);
  for (std::int64_t i = 0; i < read; ++i)
    completions[i] = completion_of(entries[i]);
  *count = static_cast<std::size_t>(read);
  return 0;
}

int may_sleep(Port* port) {
  if (!port->can_sleep) return FI_EAGAIN;
  fid* ends[] = {&port->queue->fid};
  return error_of(::fi_trywait(port->fabric.get(), ends, 1));
}

constexpr FabricFunctions kFunctions{.describe = describe,
                                     .library_version = library_version,
                                     .find = find,
                                     .count = count,
                                     .offer = offer,
                                     .forget = forget,
                                     .open = open,
                                     .stop = stop,
                                     .close = close,
                                     .add_peer = add_peer,
                                     .register_memory = register_memory,
                                     .unregister = unregister,
                                     .inject = inject,
                                     .send = send,
                                     .receive = receive,
                                     .send_tagged = send_tagged,
                                     .receive_tagged = receive_tagged,
                                     .write = write,
                                     .cancel = cancel,
                                     .poll = poll,
                                     .may_sleep = may_sleep};

}  // namespace
}  // namespace fastgpu::comm::fabric

extern "C" __attribute__((visibility("default"))) const fastgpu::comm::fabric::FabricFunctions*
fastgpu_comm_fabric_plugin() {
  return &fastgpu::comm::fabric::kFunctions;
}
