// Ranks of a job in one process, with what each of them notes for the launcher of the job.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "support/connect_in_process.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::test {

/// Communicators, and the rank that each has blamed last; -1 for none.
struct BlamingRanks {
  explicit BlamingRanks(int size, std::chrono::milliseconds timeout,
                        comm::SharedMemory shared_memory = comm::SharedMemory::on)
      : blamed(static_cast<std::size_t>(size)) {
    for (std::atomic<int>& each : blamed)
      each = -1;
    auto connections = sockets_in_process(size, timeout);
    run_ranks(connections, [&](comm::Connections& rank) {
      comm::introduce(rank, wishes(shared_memory), comm::Deadline(std::chrono::seconds(20)));
      rank.blame = [this, self = static_cast<std::size_t>(rank.rank.value)](comm::Rank culprit) {
        blamed[self] = culprit.value;
      };
    });
    std::vector<comm::Communicator> own;
    for (comm::Connections& rank : connections)
      own.emplace_back(std::move(rank));
    ranks = able_to_leave(std::move(own));
  }

  std::vector<int> seen() const { return {blamed.begin(), blamed.end()}; }

  std::vector<std::atomic<int>> blamed;
  std::vector<std::optional<comm::Communicator>> ranks;
};

}  // namespace fastgpu::test
