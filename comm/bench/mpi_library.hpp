// MPI for the measuring programs. Those that have it run under mpirun.
#pragma once

#include "comm/bench/bench_library.hpp"

namespace fastgpu::comm::bench {

/// MPI's collectives. MPI_Init has been called, and MPI_Finalize comes later.
class MpiLibrary final : public BenchLibrary {
 public:
  std::string name() const override { return "Open MPI"; }
  int rank() const override;
  int ranks() const override;
  void check_has(const BenchCall& call) const override;
  void run(const BenchCall& call) override;
  void barrier() override;
  double greatest(double number) override;
};

}  // namespace fastgpu::comm::bench
