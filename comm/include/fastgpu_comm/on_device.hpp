// Collectives and messages in the memory of a GPU as a class; fastgpu_comm.hpp includes this.
#pragma once

#include <cstddef>
#include <string>

#include "communicator.hpp"
#include "handles.hpp"

namespace fgc {

/// The way of data on a communicator.
struct DevicePath {
  fgc_device_way way = FGC_DEVICE_STAGED;
  std::string why_staged{};  ///< Empty with NCCL.
};

/// The calls of a Communicator on elements of a GPU's memory, such as std::span(pointer, count), in
/// their order in one stream.
class OnDevice {
 public:
  /// Borrows both; a null stream is the default one.
  explicit OnDevice(const Communicator& comm, void* stream = nullptr)
      : comm_(comm.get()), stream_(stream) {}

  /// Returns the way. A collective if it is the first call on this communicator.
  DevicePath path() {
    int way = 0;
    const char* why = "";
    check(fgc_device_way_of(comm_, &way, &why));
    return {static_cast<fgc_device_way>(way), why};
  }

  template <Values Data>
  void all_reduce(Data&& data, fgc_op op = FGC_SUM) {
    check(fgc_device_all_reduce(comm_, begin_of(data), count_of(data), kType<Data>, op, stream_));
  }
  template <Values Data>
  Request all_reduce_async(Data&& data, fgc_op op = FGC_SUM) {
    return begun(fgc_device_all_reduce_async, comm_, begin_of(data), count_of(data), kType<Data>,
                 op, stream_);
  }

  template <Values All, Values Mine>
  void reduce_scatter(All&& all, Mine&& mine, fgc_op op = FGC_SUM) {
    check_blocks(count_of(mine), count_of(all), fgc_size(comm_));
    check(fgc_device_reduce_scatter(comm_, begin_of(all), begin_of(mine), count_of(mine),
                                    kSameType<All, Mine>, op, stream_));
  }
  template <Values All, Values Mine>
  Request reduce_scatter_async(All&& all, Mine&& mine, fgc_op op = FGC_SUM) {
    check_blocks(count_of(mine), count_of(all), fgc_size(comm_));
    return begun(fgc_device_reduce_scatter_async, comm_, begin_of(all), begin_of(mine),
                 count_of(mine), kSameType<All, Mine>, op, stream_);
  }

  template <Values Mine, Values All>
  void all_gather(Mine&& mine, All&& all) {
    check_blocks(count_of(mine), count_of(all), fgc_size(comm_));
    check(fgc_device_all_gather(comm_, begin_of(mine), begin_of(all), count_of(mine),
                                kSameType<Mine, All>, stream_));
  }
  template <Values Mine, Values All>
  Request all_gather_async(Mine&& mine, All&& all) {
    check_blocks(count_of(mine), count_of(all), fgc_size(comm_));
    return begun(fgc_device_all_gather_async, comm_, begin_of(mine), begin_of(all), count_of(mine),
                 kSameType<Mine, All>, stream_);
  }

  template <Values Data>
  void broadcast(Data&& data, int root) {
    check(fgc_device_broadcast(comm_, begin_of(data), count_of(data), kType<Data>, root, stream_));
  }
  template <Values Data>
  Request broadcast_async(Data&& data, int root) {
    return begun(fgc_device_broadcast_async, comm_, begin_of(data), count_of(data), kType<Data>,
                 root, stream_);
  }

  template <Values Out, Values In>
  void all_to_all(Out&& out, In&& in) {
    const std::size_t block = block_of(count_of(out), count_of(in), fgc_size(comm_));
    check(fgc_device_all_to_all(comm_, begin_of(out), begin_of(in), block, kSameType<Out, In>,
                                stream_));
  }
  template <Values Out, Values In>
  Request all_to_all_async(Out&& out, In&& in) {
    const std::size_t block = block_of(count_of(out), count_of(in), fgc_size(comm_));
    return begun(fgc_device_all_to_all_async, comm_, begin_of(out), begin_of(in), block,
                 kSameType<Out, In>, stream_);
  }

  template <Values Data>
  void send(Data&& data, int to) {
    check(fgc_device_send(comm_, begin_of(data), count_of(data), kType<Data>, to, stream_));
  }
  template <Values Data>
  Request send_async(Data&& data, int to) {
    return begun(fgc_device_send_async, comm_, begin_of(data), count_of(data), kType<Data>, to,
                 stream_);
  }
  template <Values Data>
  void recv(Data&& data, int from) {
    check(fgc_device_recv(comm_, begin_of(data), count_of(data), kType<Data>, from, stream_));
  }
  template <Values Data>
  Request recv_async(Data&& data, int from) {
    return begun(fgc_device_recv_async, comm_, begin_of(data), count_of(data), kType<Data>, from,
                 stream_);
  }

 private:
  fgc_comm* comm_;
  void* stream_;
};

}  // namespace fgc
