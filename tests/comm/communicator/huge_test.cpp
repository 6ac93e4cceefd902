// Data that 31 bits cannot count: skipped where memory is short.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "support/connect_in_process.hpp"
#include "support/run_ranks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

constexpr int kSkipped = 77;
constexpr std::size_t kElements = (std::size_t{1} << 31) + 11;

std::size_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  std::size_t kibibytes = 0;
  while (file >> word)
    if (word == "MemAvailable:") file >> kibibytes;
  return kibibytes << 10;
}

std::uint8_t number_at(std::size_t index) {
  return static_cast<std::uint8_t>(index * 7 + (index >> 20));
}

TEST_CASE("more than 2^31 elements are reduced, each at its place") {
  for (const SharedMemory shared_memory : {SharedMemory::on, SharedMemory::off}) {
    auto ranks = test::communicators_in_process(2, 60s, shared_memory, 2);
    std::vector<std::size_t> wrong(ranks.size());
    test::run_ranks(ranks, [&](Communicator& comm) {
      std::vector<std::uint8_t> values(kElements);
      const auto factor = static_cast<std::uint8_t>(comm.rank().value + 1);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<std::uint8_t>(number_at(i) * factor);
      comm.all_reduce(std::span(values), ReduceOp::sum);
      for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i] != static_cast<std::uint8_t>(number_at(i) * 3))
          ++wrong[static_cast<std::size_t>(comm.rank().value)];
    });
    CHECK(wrong == std::vector<std::size_t>(ranks.size()));
  }
}

}  // namespace
}  // namespace fastgpu::comm

int main(int count, char** arguments) {
  if (fastgpu::comm::available_memory() < fastgpu::comm::kElements * 4)
    return fastgpu::comm::kSkipped;
  return doctest::Context(count, arguments).run();
}
