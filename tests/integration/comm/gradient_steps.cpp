// One rank that takes gradient steps, and checks their sums, until rank 0's standard input ends.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/communicator/communicator.hpp"
#include "comm/communicator/join.hpp"
#include "comm/gradients/gradient_exchange.hpp"

namespace fastgpu::comm {
namespace {

using Clock = std::chrono::steady_clock;

/// By then connections are warm, and the order of gradients is that of rank 0.
constexpr int kWarm = 3;

/// Small whole numbers, whose sums are exact: other ones in each step, rank and place.
float value_of(int rank, int step, std::size_t i) {
  return static_cast<float>((i + static_cast<std::size_t>(7 * step + 11 * rank)) % 23);
}

void fill(std::vector<float>& values, int rank, int step) {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = value_of(rank, step, i);
}

void check(const std::vector<float>& sums, int ranks, int step) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    float expected = 0;
    for (int rank = 0; rank < ranks; ++rank)
      expected += value_of(rank, step, i);
    if (sums[i] != expected)
      throw Error(ErrorKind::internal, "step " + std::to_string(step) + ": sum " +
                                           std::to_string(i) + " is " + std::to_string(sums[i]) +
                                           ", not " + std::to_string(expected));
  }
}

bool has_input_ended() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return ::poll(&input, 1, 0) > 0;
}

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void take_steps(Communicator& comm) {
  const int rank = comm.rank().value;
  std::vector<float> large(1'000'003);
  std::vector<float> small(77);
  std::vector<float> is_over(1);
  GradientExchange exchange(comm, gradient_settings(process_environment()));
  exchange.add("large", std::span(large));
  exchange.add("small", std::span(small));
  exchange.add("is_over", std::span(is_over));
  Clock::duration longest{};
  for (int step = 0; is_over.front() == 0; ++step) {
    fill(large, rank, step);
    fill(small, rank, step);
    if (rank == 0 && has_input_ended()) is_over.front() = 1;
    const auto begin = Clock::now();
    exchange.all_reduce_gradients(ReduceOp::sum);
    longest = std::max(longest, Clock::now() - begin);
    check(large, comm.size(), step);
    check(small, comm.size(), step);
    if (step == kWarm) say("training");
  }
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(longest);
  say("longest step: " + std::to_string(ms.count()) + " ms");
}

int run() try {
  Communicator comm(join(job_place(process_environment())));
  take_steps(comm);
  return 0;
} catch (const Error& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}

}  // namespace
}  // namespace fastgpu::comm

int main() {
  return fastgpu::comm::run();
}
