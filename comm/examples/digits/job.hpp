// The C ABI of libfastgpu_comm as this program likes it: failures are exceptions, leaving is
// automatic.
#pragma once

#include <fastgpu_comm.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace digits {

class Job {
 public:
  Job() {
    fgc_comm* comm = nullptr;
    check(fgc_init(&comm));
    comm_.reset(comm);
  }

  int rank() const { return fgc_rank(comm_.get()); }
  int size() const { return fgc_size(comm_.get()); }

  void broadcast(std::vector<float>& values, int root) {
    check(fgc_broadcast(comm_.get(), values.data(), values.size() * sizeof(float), root));
  }

  /// Every rank's sum replaces its own numbers.
  void add_up(std::vector<double>& values) {
    check(fgc_all_reduce(comm_.get(), values.data(), values.size(), FGC_FLOAT64, FGC_SUM));
  }

  std::vector<std::uint64_t> gather(std::uint64_t mine) {
    std::vector<std::uint64_t> all(static_cast<std::size_t>(size()));
    check(fgc_all_gather(comm_.get(), &mine, sizeof(mine), all.data()));
    return all;
  }

  /// `values` stays where it is as long as the job.
  void register_gradient(const std::string& name, std::vector<float>& values) {
    check(fgc_register_gradient(comm_.get(), name.c_str(), values.data(), values.size(),
                                FGC_FLOAT32));
  }

  void add_up_gradients() { check(fgc_all_reduce_gradients(comm_.get(), FGC_SUM)); }
  void barrier() { check(fgc_barrier(comm_.get())); }

 private:
  struct Leave {
    void operator()(fgc_comm* comm) const noexcept { fgc_finalize(comm); }
  };

  static void check(fgc_status status) {
    if (status != FGC_OK) throw std::runtime_error(fgc_last_error());
  }

  std::unique_ptr<fgc_comm, Leave> comm_;
};

}  // namespace digits
