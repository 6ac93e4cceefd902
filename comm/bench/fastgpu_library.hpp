// libfastgpu_comm for the measuring program.
#pragma once

#include "comm/bench/bench_library.hpp"
#include "comm/bench/bench_settings.hpp"
#include "comm/communicator/communicator.hpp"

namespace fastgpu::comm::bench {

class FastgpuLibrary final : public BenchLibrary {
 public:
  /// Borrows `communicator`.
  FastgpuLibrary(Communicator& communicator, Buffers buffers)
      : communicator_(communicator), buffers_(buffers) {}

  std::string name() const override { return "fastgpu"; }
  int rank() const override { return communicator_.rank().value; }
  int ranks() const override { return communicator_.size(); }
  void check_has(const BenchCall&) const override {}
  void run(const BenchCall& call) override;
  void barrier() override { communicator_.barrier(); }
  double greatest(double number) override;
  std::span<std::byte> memory(std::size_t bytes) override;

 private:
  Communicator& communicator_;
  Buffers buffers_;
};

}  // namespace fastgpu::comm::bench
