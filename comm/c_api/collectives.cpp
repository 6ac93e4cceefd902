// The C ABI: collectives and messages.
#include "comm/c_api/arguments.hpp"
#include "comm/c_api/exception_border.hpp"
#include "comm/c_api/handles.hpp"

using fastgpu::comm::Communicator;
using fastgpu::comm::Rank;
using fastgpu::comm::c_api::elements_at;
using fastgpu::comm::c_api::guarded;
using fastgpu::comm::c_api::need;
using fastgpu::comm::c_api::reduction_of;
using fastgpu::comm::c_api::type_of;

namespace {

Communicator& ranks_of(fgc_comm* comm) {
  return *need(comm, "the communicator").communicator;
}

/// Gives the caller the request that `start` begins.
template <class Start>
fgc_status begun(fgc_request** request, Start start) {
  return guarded([&] {
    need(request, "the place for the request") = nullptr;
    *request = new fgc_request{start()};
  });
}

}  // namespace

size_t fgc_type_size(int type) {
  if (type < 0 || type >= static_cast<int>(fastgpu::comm::kElementTypes)) return 0;
  return fastgpu::comm::size_of(fastgpu::comm::c_api::type_of(type));
}

fgc_status fgc_request_test(fgc_request* request, int* is_done) {
  return guarded([&] {
    need(is_done, "the place for the answer") = 0;
    const auto test = [](auto& work) { return work.test(); };
    *is_done = std::visit(test, need(request, "the request").work) ? 1 : 0;
  });
}

fgc_status fgc_request_wait(fgc_request* request) {
  return guarded(
      [&] { std::visit([](auto& work) { work.wait(); }, need(request, "the request").work); });
}

void fgc_request_free(fgc_request* request) {
  delete request;
}

fgc_status fgc_all_reduce(fgc_comm* comm, void* data, size_t count, int type, int op) {
  return guarded(
      [&] { ranks_of(comm).all_reduce(elements_at(data, count, type), reduction_of(type, op)); });
}

fgc_status fgc_all_reduce_async(fgc_comm* comm, void* data, size_t count, int type, int op,
                                fgc_request** request) {
  return begun(request, [&] {
    return ranks_of(comm).start_all_reduce(elements_at(data, count, type), reduction_of(type, op));
  });
}

fgc_status fgc_reduce_scatter(fgc_comm* comm, const void* all, void* mine, size_t count, int type,
                              int op) {
  return guarded([&] {
    Communicator& ranks = ranks_of(comm);
    ranks.reduce_scatter(elements_at(all, count, type, ranks.size()),
                         elements_at(mine, count, type), reduction_of(type, op));
  });
}

fgc_status fgc_reduce_scatter_async(fgc_comm* comm, const void* all, void* mine, size_t count,
                                    int type, int op, fgc_request** request) {
  return begun(request, [&] {
    Communicator& ranks = ranks_of(comm);
    return ranks.start_reduce_scatter(elements_at(all, count, type, ranks.size()),
                                      elements_at(mine, count, type), reduction_of(type, op));
  });
}

fgc_status fgc_all_gather(fgc_comm* comm, const void* mine, void* all, size_t count, int type) {
  return guarded([&] {
    Communicator& ranks = ranks_of(comm);
    ranks.all_gather(elements_at(mine, count, type), elements_at(all, count, type, ranks.size()),
                     type_of(type));
  });
}

fgc_status fgc_all_gather_async(fgc_comm* comm, const void* mine, void* all, size_t count, int type,
                                fgc_request** request) {
  return begun(request, [&] {
    Communicator& ranks = ranks_of(comm);
    return ranks.start_all_gather(elements_at(mine, count, type),
                                  elements_at(all, count, type, ranks.size()), type_of(type));
  });
}

fgc_status fgc_broadcast(fgc_comm* comm, void* data, size_t count, int type, int root) {
  return guarded(
      [&] { ranks_of(comm).broadcast(elements_at(data, count, type), {root}, type_of(type)); });
}

fgc_status fgc_broadcast_async(fgc_comm* comm, void* data, size_t count, int type, int root,
                               fgc_request** request) {
  return begun(request, [&] {
    return ranks_of(comm).start_broadcast(elements_at(data, count, type), {root}, type_of(type));
  });
}

fgc_status fgc_all_to_all(fgc_comm* comm, const void* out, void* in, size_t count, int type) {
  return guarded([&] {
    Communicator& ranks = ranks_of(comm);
    ranks.all_to_all(elements_at(out, count, type, ranks.size()),
                     elements_at(in, count, type, ranks.size()), type_of(type));
  });
}

fgc_status fgc_all_to_all_async(fgc_comm* comm, const void* out, void* in, size_t count, int type,
                                fgc_request** request) {
  return begun(request, [&] {
    Communicator& ranks = ranks_of(comm);
    return ranks.start_all_to_all(elements_at(out, count, type, ranks.size()),
                                  elements_at(in, count, type, ranks.size()), type_of(type));
  });
}

fgc_status fgc_send(fgc_comm* comm, const void* data, size_t count, int type, int to) {
  return guarded([&] { ranks_of(comm).send(elements_at(data, count, type), {to}, type_of(type)); });
}

fgc_status fgc_send_async(fgc_comm* comm, const void* data, size_t count, int type, int to,
                          fgc_request** request) {
  return begun(request, [&] {
    return ranks_of(comm).start_send(elements_at(data, count, type), {to}, type_of(type));
  });
}

fgc_status fgc_recv(fgc_comm* comm, void* data, size_t count, int type, int from) {
  return guarded(
      [&] { ranks_of(comm).receive(elements_at(data, count, type), {from}, type_of(type)); });
}

fgc_status fgc_recv_async(fgc_comm* comm, void* data, size_t count, int type, int from,
                          fgc_request** request) {
  return begun(request, [&] {
    return ranks_of(comm).start_receive(elements_at(data, count, type), {from}, type_of(type));
  });
}

fgc_status fgc_barrier(fgc_comm* comm) {
  return guarded([&] { ranks_of(comm).barrier(); });
}

fgc_status fgc_barrier_async(fgc_comm* comm, fgc_request** request) {
  return begun(request, [&] { return ranks_of(comm).start_barrier(); });
}
