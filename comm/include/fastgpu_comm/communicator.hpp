// A communicator as a class; fastgpu_comm.hpp includes this.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "handles.hpp"

namespace fgc {

class Communicator {
 public:
  /// Joins the job.
  explicit Communicator(const Settings& settings = {}) {
    fgc_comm* comm = nullptr;
    check(fgc_init(list_of(settings).data(), &comm));
    comm_.reset(comm);
  }

  int rank() const noexcept { return fgc_rank(get()); }
  int size() const noexcept { return fgc_size(get()); }
  int local_rank() const noexcept { return fgc_local_rank(get()); }
  int local_size() const noexcept { return fgc_local_size(get()); }
  fgc_comm* get() const noexcept { return comm_.get(); }

  std::optional<Communicator> split(int color, int key) {
    fgc_comm* group = nullptr;
    check(fgc_split(get(), color, key, &group));
    if (group == nullptr) return std::nullopt;
    return Communicator(group);
  }

  /// Notes the rank that this one fails because of: see fastgpu_comm/job.h.
  void blame(int rank) { check(fgc_blame(get(), rank)); }

  template <Values Data>
  void all_reduce(Data&& data, fgc_op op = FGC_SUM) {
    check(fgc_all_reduce(get(), begin_of(data), count_of(data), kType<Data>, op));
  }
  template <Values Data>
  Request all_reduce_async(Data&& data, fgc_op op = FGC_SUM) {
    return begun(fgc_all_reduce_async, get(), begin_of(data), count_of(data), kType<Data>, op);
  }

  template <Values All, Values Mine>
  void reduce_scatter(All&& all, Mine&& mine, fgc_op op = FGC_SUM) {
    check_blocks(count_of(mine), count_of(all), size());
    check(fgc_reduce_scatter(get(), begin_of(all), begin_of(mine), count_of(mine),
                             kSameType<All, Mine>, op));
  }
  template <Values All, Values Mine>
  Request reduce_scatter_async(All&& all, Mine&& mine, fgc_op op = FGC_SUM) {
    check_blocks(count_of(mine), count_of(all), size());
    return begun(fgc_reduce_scatter_async, get(), begin_of(all), begin_of(mine), count_of(mine),
                 kSameType<All, Mine>, op);
  }

  template <Values Mine, Values All>
  void all_gather(Mine&& mine, All&& all) {
    check_blocks(count_of(mine), count_of(all), size());
    check(
        fgc_all_gather(get(), begin_of(mine), begin_of(all), count_of(mine), kSameType<Mine, All>));
  }
  template <Values Mine, Values All>
  Request all_gather_async(Mine&& mine, All&& all) {
    check_blocks(count_of(mine), count_of(all), size());
    return begun(fgc_all_gather_async, get(), begin_of(mine), begin_of(all), count_of(mine),
                 kSameType<Mine, All>);
  }

  template <Values Data>
  void broadcast(Data&& data, int root) {
    check(fgc_broadcast(get(), begin_of(data), count_of(data), kType<Data>, root));
  }
  template <Values Data>
  Request broadcast_async(Data&& data, int root) {
    return begun(fgc_broadcast_async, get(), begin_of(data), count_of(data), kType<Data>, root);
  }

  template <Values Out, Values In>
  void all_to_all(Out&& out, In&& in) {
    const std::size_t block = block_of(count_of(out), count_of(in), size());
    check(fgc_all_to_all(get(), begin_of(out), begin_of(in), block, kSameType<Out, In>));
  }
  template <Values Out, Values In>
  Request all_to_all_async(Out&& out, In&& in) {
    const std::size_t block = block_of(count_of(out), count_of(in), size());
    return begun(fgc_all_to_all_async, get(), begin_of(out), begin_of(in), block,
                 kSameType<Out, In>);
  }

  template <Values Data>
  void send(Data&& data, int to) {
    check(fgc_send(get(), begin_of(data), count_of(data), kType<Data>, to));
  }
  template <Values Data>
  Request send_async(Data&& data, int to) {
    return begun(fgc_send_async, get(), begin_of(data), count_of(data), kType<Data>, to);
  }
  template <Values Data>
  void recv(Data&& data, int from) {
    check(fgc_recv(get(), begin_of(data), count_of(data), kType<Data>, from));
  }
  template <Values Data>
  Request recv_async(Data&& data, int from) {
    return begun(fgc_recv_async, get(), begin_of(data), count_of(data), kType<Data>, from);
  }

  /// Returns the counts of each network that this rank uses.
  std::vector<fgc_link> links() {
    std::size_t count = 0;
    check(fgc_link_counters(get(), 0, nullptr, &count));
    std::vector<fgc_link> all(count);
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].struct_size = sizeof(fgc_link);
      check(fgc_link_counters(get(), i, &all[i], &count));
    }
    return all;
  }

  void barrier() { check(fgc_barrier(get())); }
  Request barrier_async() { return begun(fgc_barrier_async, get()); }

 private:
  explicit Communicator(fgc_comm* comm) : comm_(comm) {}

  std::unique_ptr<fgc_comm, Release<fgc_comm_free>> comm_;
};

}  // namespace fgc
