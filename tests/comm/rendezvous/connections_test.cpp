#include "comm/rendezvous/connections.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "support/connect_in_process.hpp"

namespace fastgpu::comm {
namespace {

TEST_SUITE_BEGIN("comm/connections");

TEST_CASE("ranks of this machine want its cores, whether or not they share memory") {
  Connections connections{.rank = {1}, .size = 5};
  connections.topology = {{{Rank{0}, Rank{1}}, {Rank{2}}, {Rank{3}}, {Rank{4}}}};
  connections.sockets.resize(5);
  CHECK(ranks_of_machine(connections) == 2);

  std::vector<UniqueFd> other_ends;
  const auto connect = [&](std::size_t rank, std::pair<UniqueFd, UniqueFd> ends) {
    connections.sockets[rank].push_back(std::move(ends.first));
    other_ends.push_back(std::move(ends.second));
  };
  connect(0, test::tcp_pair());  // It is counted already.
  connect(2, test::tcp_pair());
  connect(3, test::tcp_pair());
  connect(4, test::socket_pair());  // It stands for one that leaves the machine.
  CHECK(ranks_of_machine(connections) == 4);
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
