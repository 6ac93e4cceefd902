// The memory of messages by a real provider, which demands what RDMA adapters demand.
// FASTGPU_TEST_FABRIC names the provider, and perhaps the way of putting ("net a").
#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "comm/fabric/fabric_endpoint.hpp"
#include "comm/transports/fabric_transport.hpp"
#include "support/connect_in_process.hpp"
#include "support/run_ranks.hpp"
#include "support/strict_endpoint.hpp"
#include "support/transport_checks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::run_ranks;
using test::StrictFindings;

constexpr std::size_t kMebibyteOfTest = 1 << 20;
/// In a frame, copied, registered, and in several pieces.
constexpr std::size_t kNumbersOfTest[] = {1, 4083, 20'011, 70'001, 2'500'003};

/// Ranks whose endpoints may register so many bytes each.
struct StrictRanks {
  StrictRanks(int size, std::size_t lockable, std::optional<std::size_t> copy_limit = {}) {
    auto connections = test::sockets_in_process(size, 20s);
    const Wishes wished = test::wishes(SharedMemory::off);
    run_ranks(connections, [&](Connections& rank) {
      introduce(rank, {.shared_memory = SharedMemory::off, .flows = 1}, Deadline(20s));
    });
    std::vector<std::unique_ptr<FabricTransport>> transports;
    for (int r = 0; r < size; ++r)
      transports.push_back(std::make_unique<FabricTransport>(
          Rank{r}, size,
          std::make_unique<test::StrictEndpoint>(
              fabric::open_endpoint(wished.fabric, {size, wished.near}).endpoint, lockable,
              findings),
          copy_limit));
    for (std::size_t a = 0; a < transports.size(); ++a)
      for (std::size_t b = 0; b < transports.size(); ++b)
        if (a != b) REQUIRE(transports[a]->connect({static_cast<int>(b)}, transports[b]->card()));
    run_ranks(transports, [](std::unique_ptr<FabricTransport>& transport) {
      if (!transport->meet(Deadline(20s)).empty())
        throw Error(ErrorKind::remote, "the ranks have not met");
    });
    for (std::size_t r = 0; r < connections.size(); ++r) {
      connections[r].fabric = std::move(transports[r]);
      ranks.emplace_back(std::move(connections[r]));
    }
  }

  std::shared_ptr<StrictFindings> findings = std::make_shared<StrictFindings>();
  std::vector<Communicator> ranks{};
};

TEST_SUITE_BEGIN("comm/fabric_memory");

TEST_CASE("memory of all operations is registered until they have ended") {
  for (const std::optional<std::size_t> copy_limit :
       {std::optional<std::size_t>(), std::optional<std::size_t>(0),
        std::optional<std::size_t>(kMaxCopied)}) {
    StrictRanks strict(3, SIZE_MAX, copy_limit);
    for (const std::size_t length : kNumbersOfTest) {
      test::check_sums(strict.ranks, length);
      test::check_copies(strict.ranks, length);
    }
    test::check_gradients(strict.ranks);
    strict.ranks.clear();
    CHECK(strict.findings->unregistered == 0);
    CHECK(strict.findings->used_after == 0);
    CHECK(strict.findings->registrations > 0);
  }
}

TEST_CASE("where little memory may be locked, messages are copied, and arrive whole") {
  // Frames and copies have room there, and four pieces of 1 MiB more have not.
  constexpr std::size_t kLockable = 9 * kMebibyteOfTest;
  StrictRanks strict(2, kLockable, 0);
  for (const std::size_t length : {std::size_t{70'001}, std::size_t{9'000'001}}) {
    test::check_sums(strict.ranks, length);
    test::check_copies(strict.ranks, length);
  }
  strict.ranks.clear();
  CHECK(strict.findings->unregistered == 0);
  CHECK(strict.findings->used_after == 0);
  CHECK(strict.findings->most_locked <= kLockable);
  CHECK(strict.findings->most_locked > kLockable / 2);
}

TEST_CASE("an address of another family is refused by the provider's endpoint") {
  const Wishes wished = test::wishes(SharedMemory::off);
  const auto endpoint = fabric::open_endpoint(wished.fabric, {2, wished.near}).endpoint;
  std::vector<std::byte> address = endpoint->address();
  CHECK(endpoint->add_peer(address));
  address.resize(address.size() == 16 ? 28 : 16);
  CHECK_FALSE(endpoint->add_peer(address));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
