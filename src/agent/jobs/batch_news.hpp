// The report of a rank in Slurm that there is something to read on its node.
#pragma once

#include <unistd.h>

#include <string>
#include <utility>

#include "agent/files/disk.hpp"
#include "agent/protocol/plan.hpp"
#include "base/error.hpp"

namespace fastgpu::agent {

/// Writes a line to the standard output, which srun brings to the node of the batch script, for the
/// first report alone.
class BatchNews {
 public:
  /// Without `is_wanted` nothing is reported.
  explicit BatchNews(bool is_wanted) : is_wanted_(is_wanted) {}

  void report() noexcept try {
    if (std::exchange(is_wanted_, false))
      write_all(STDOUT_FILENO, std::string(kNewsOfOutput) + "\n");
  } catch (const Error&) {
    return;  // Slurm is ending the rank.
  }

 private:
  bool is_wanted_;
};

}  // namespace fastgpu::agent
