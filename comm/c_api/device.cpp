// The C ABI: collectives and gradients in the memory of a GPU.
#include "comm/include/fastgpu_comm/device.h"

#include "comm/c_api/arguments.hpp"
#include "comm/c_api/exception_border.hpp"
#include "comm/c_api/handles.hpp"
#include "comm/c_api/make_device.hpp"
#include "comm/c_api/outcome.hpp"
#include "comm/gpu/choose.hpp"
#include "comm/gpu/staged.hpp"

namespace comm = fastgpu::comm;
using comm::c_api::elements_at;
using comm::c_api::guarded;
using comm::c_api::need;
using comm::c_api::reduction_of;
using comm::c_api::type_of;
using comm::gpu::DeviceCollectives;
using comm::gpu::StreamHandle;

namespace {

StreamHandle stream_of(void* stream) {
  return static_cast<StreamHandle>(stream);
}

DeviceCollectives& collectives_of(fgc_comm& comm) {
  if (comm.on_device) return *comm.on_device;
  const auto device = comm::c_api::make_device();
  const auto settings = comm::gpu::device_settings(comm.environment);
  auto path = comm::gpu::choose_path(*comm.communicator, device, settings);
  comm.why_staged = std::move(path.why_staged);
  const std::string report = comm.communicator->report_of_device_memory();
  if (!comm.why_staged.empty() && !report.empty()) comm.why_staged += "; " + report;
  comm.on_device = std::move(path.nccl);
  if (!comm.on_device)
    comm.on_device = std::make_shared<comm::gpu::StagedCollectives>(*comm.communicator, device);
  return *comm.on_device;
}

/// Runs a blocking call: `start` gets the collectives and the number of ranks.
template <class Start>
fgc_status done(fgc_comm* comm, Start start) {
  return guarded([&] {
    fgc_comm& ranks = need(comm, "the communicator");
    start(collectives_of(ranks), ranks.communicator->size())->wait();
  });
}

template <class Start>
fgc_status begun(fgc_comm* comm, fgc_request** request, Start start) {
  return guarded([&] {
    need(request, "the place for the request") = nullptr;
    fgc_comm& ranks = need(comm, "the communicator");
    auto made = start(collectives_of(ranks), ranks.communicator->size());
    *request = new fgc_request{comm::c_api::OwnedDeviceRequest{std::move(made), ranks.on_device}};
  });
}

auto all_reduce(void* data, size_t count, int type, int op, void* stream) {
  return [=](DeviceCollectives& on_device, int) {
    return on_device.all_reduce(elements_at(data, count, type), reduction_of(type, op),
                                stream_of(stream));
  };
}

auto reduce_scatter(const void* all, void* mine, size_t count, int type, int op, void* stream) {
  return [=](DeviceCollectives& on_device, int ranks) {
    return on_device.reduce_scatter(elements_at(all, count, type, ranks),
                                    elements_at(mine, count, type), reduction_of(type, op),
                                    stream_of(stream));
  };
}

auto all_gather(const void* mine, void* all, size_t count, int type, void* stream) {
  return [=](DeviceCollectives& on_device, int ranks) {
    return on_device.all_gather(elements_at(mine, count, type),
                                elements_at(all, count, type, ranks), stream_of(stream),
                                type_of(type));
  };
}

auto broadcast(void* data, size_t count, int type, int root, void* stream) {
  return [=](DeviceCollectives& on_device, int) {
    return on_device.broadcast(elements_at(data, count, type), {root}, stream_of(stream),
                               type_of(type));
  };
}

auto all_to_all(const void* out, void* in, size_t count, int type, void* stream) {
  return [=](DeviceCollectives& on_device, int ranks) {
    return on_device.all_to_all(elements_at(out, count, type, ranks),
                                elements_at(in, count, type, ranks), stream_of(stream),
                                type_of(type));
  };
}

auto send(const void* data, size_t count, int type, int to, void* stream) {
  return [=](DeviceCollectives& on_device, int) {
    return on_device.send(elements_at(data, count, type), {to}, stream_of(stream), type_of(type));
  };
}

auto receive(void* data, size_t count, int type, int from, void* stream) {
  return [=](DeviceCollectives& on_device, int) {
    return on_device.receive(elements_at(data, count, type), {from}, stream_of(stream),
                             type_of(type));
  };
}

}  // namespace

int fgc_device_support(void) {
  return comm::c_api::has_devices() ? 1 : 0;
}

fgc_status fgc_device_way_of(fgc_comm* comm, int* way, const char** why) {
  return guarded([&] {
    need(way, "the place for the way") = FGC_DEVICE_STAGED;
    if (why != nullptr) *why = "";
    fgc_comm& ranks = need(comm, "the communicator");
    collectives_of(ranks);
    if (ranks.why_staged.empty()) *way = FGC_DEVICE_NCCL;
    if (why != nullptr) *why = ranks.why_staged.c_str();
  });
}

fgc_status fgc_device_all_reduce(fgc_comm* comm, void* data, size_t count, int type, int op,
                                 void* stream) {
  return done(comm, all_reduce(data, count, type, op, stream));
}

fgc_status fgc_device_all_reduce_async(fgc_comm* comm, void* data, size_t count, int type, int op,
                                       void* stream, fgc_request** request) {
  return begun(comm, request, all_reduce(data, count, type, op, stream));
}

fgc_status fgc_device_reduce_scatter(fgc_comm* comm, const void* all, void* mine, size_t count,
                                     int type, int op, void* stream) {
  return done(comm, reduce_scatter(all, mine, count, type, op, stream));
}

fgc_status fgc_device_reduce_scatter_async(fgc_comm* comm, const void* all, void* mine,
                                           size_t count, int type, int op, void* stream,
                                           fgc_request** request) {
  return begun(comm, request, reduce_scatter(all, mine, count, type, op, stream));
}

fgc_status fgc_device_all_gather(fgc_comm* comm, const void* mine, void* all, size_t count,
                                 int type, void* stream) {
  return done(comm, all_gather(mine, all, count, type, stream));
}

fgc_status fgc_device_all_gather_async(fgc_comm* comm, const void* mine, void* all, size_t count,
                                       int type, void* stream, fgc_request** request) {
  return begun(comm, request, all_gather(mine, all, count, type, stream));
}

fgc_status fgc_device_broadcast(fgc_comm* comm, void* data, size_t count, int type, int root,
                                void* stream) {
  return done(comm, broadcast(data, count, type, root, stream));
}

fgc_status fgc_device_broadcast_async(fgc_comm* comm, void* data, size_t count, int type, int root,
                                      void* stream, fgc_request** request) {
  return begun(comm, request, broadcast(data, count, type, root, stream));
}

fgc_status fgc_device_all_to_all(fgc_comm* comm, const void* out, void* in, size_t count, int type,
                                 void* stream) {
  return done(comm, all_to_all(out, in, count, type, stream));
}

fgc_status fgc_device_all_to_all_async(fgc_comm* comm, const void* out, void* in, size_t count,
                                       int type, void* stream, fgc_request** request) {
  return begun(comm, request, all_to_all(out, in, count, type, stream));
}

fgc_status fgc_device_send(fgc_comm* comm, const void* data, size_t count, int type, int to,
                           void* stream) {
  return done(comm, send(data, count, type, to, stream));
}

fgc_status fgc_device_send_async(fgc_comm* comm, const void* data, size_t count, int type, int to,
                                 void* stream, fgc_request** request) {
  return begun(comm, request, send(data, count, type, to, stream));
}

fgc_status fgc_device_recv(fgc_comm* comm, void* data, size_t count, int type, int from,
                           void* stream) {
  return done(comm, receive(data, count, type, from, stream));
}

fgc_status fgc_device_recv_async(fgc_comm* comm, void* data, size_t count, int type, int from,
                                 void* stream, fgc_request** request) {
  return begun(comm, request, receive(data, count, type, from, stream));
}

fgc_status fgc_device_gradient_ready(fgc_gradients* gradients, size_t id, void* stream) {
  return guarded(
      [&] { need(gradients, "the gradients' handle").exchange.ready({id}, stream_of(stream)); });
}

fgc_status fgc_device_gradients_wait(fgc_gradients* gradients, void* stream, fgc_outcome* outcome) {
  return comm::c_api::ended(gradients, outcome, [stream](comm::GradientExchange& exchange) {
    return exchange.wait_step(stream_of(stream));
  });
}
