// The C++ face of the C ABI: two ranks as threads, which differ by their settings alone.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>
#include <fastgpu_comm.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

/// A port of the loopback interface that nobody has.
int free_port() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof(address);
  const int s = ::socket(AF_INET, SOCK_STREAM, 0);
  if (s < 0 || ::bind(s, plain, length) != 0 || ::getsockname(s, plain, &length) != 0)
    throw std::runtime_error("no port");
  ::close(s);
  return ntohs(address.sin_port);
}

void expect(bool is_true, const char* what) {
  if (!is_true) throw std::runtime_error(std::string("not true: ") + what);
}

template <class Action>
void expect_failure(Action action, fgc_status status, const char* what) {
  try {
    action();
  } catch (const fgc::Error& e) {
    expect(e.status() == status && *e.what() != '\0', what);
    return;
  }
  expect(false, what);
}

void check_collectives(fgc::Communicator& comm) {
  const int rank = comm.rank();
  const int other = 1 - rank;
  std::array<float, 2> sums{1, static_cast<float>(rank)};
  comm.all_reduce(sums);
  expect(sums[0] == 2 && sums[1] == 1, "sums");
  const std::array<std::int64_t, 1> mine{rank};
  std::array<std::int64_t, 2> all{};
  auto gathering = comm.all_gather_async(mine, all);
  auto everybody = comm.barrier_async();
  gathering.wait();
  everybody.wait();
  expect(gathering.test() && all[1] == 1, "what is gathered");
  const auto links = comm.links();
  expect(!links.empty() && links.front().struct_size == sizeof(fgc_link), "links");
  auto sending = comm.send_async(mine, other);
  comm.recv(std::span(all).first(1), other);
  sending.wait();
  expect(all[0] == other, "a message");
  expect_failure([&] { comm.broadcast(all, 7); }, FGC_USAGE, "a root out of range");
  expect_failure([&] { comm.all_gather(all, all); }, FGC_USAGE, "what is not long enough");
  const auto group = comm.split(rank == 0 ? 0 : FGC_NO_COLOR, 0);
  expect(group.has_value() == (rank == 0), "groups");
}

void check_gradients(fgc::Communicator& comm) {
  const fgc::Memory<float> weight(comm.get(), 3);
  std::vector<float> bias{static_cast<float>(comm.rank())};
  fgc::Gradients gradients(comm, {"FASTGPU_COMM_WIRE=fp16"});
  const std::size_t first = gradients.add("weight", weight.values());
  const std::size_t second = gradients.add("bias", bias, 1);
  for (float& value : weight.values())
    value = static_cast<float>(2 * comm.rank());
  gradients.ready(second);
  gradients.ready(first);
  expect(gradients.wait().is_applied == 1, "a step");
  expect(weight.values()[2] == 1 && bias[0] == 0.5F, "averages");
  expect(gradients.wire_type(first) == FGC_FLOAT16, "half as many bytes");
  expect(gradients.view(second).type == FGC_FLOAT16, "views");
  expect(gradients.counters().steps == 1, "counters");
  expect(gradients.leave().is_somebody_leaving == 1, "the last step");
}

void check_gossip(fgc::Communicator& comm) {
  std::vector<float> weight(10, static_cast<float>(2 * comm.rank()));
  const fgc::Settings settings{"FASTGPU_COMM_WIRE=int8"};
  std::vector<std::byte> state;
  {
    fgc::Gossip gossip(comm, settings);
    gossip.add("weight", weight);
    gossip.on_warning([](const char*) {});
    expect(gossip.step().is_exact == 1 && weight[9] == 1, "the first step is exact");
    weight[3] += static_cast<float>(comm.rank());
    const fgc_gossip_report report = gossip.step();
    expect(report.step == 1 && std::string(report.wire) == "int8", "a report");
    state = gossip.saved_state();
  }
  fgc::Gossip again(comm, settings);
  again.add("weight", weight);
  again.load_state(state);
  expect(again.step().step == 2, "it goes on");
}

void check_warnings(fgc::Communicator& comm) {
  std::array<float, 2> values{1, comm.rank() == 0 ? NAN : 1};
  fgc::Gradients gradients(comm, {"FASTGPU_COMM_NANCHECK=warn"});
  gradients.add("values", values);
  std::string said;
  gradients.on_warning([&said](const char* sentence) { said += sentence; });
  gradients.ready(0);
  gradients.wait();
  const bool has_warned = said.find("values") != std::string::npos;
  expect(has_warned == (comm.rank() == 0), "the rank that has it warns, and names the gradient");
}

void check_multistep(fgc::Communicator& comm) {
  std::vector<float> weight{static_cast<float>(comm.rank()), 1};
  fgc::Multistep steps(comm, "local_steps=2");
  expect(!steps.takes_gradients(), "a mode of parameters");
  expect(!steps.skips_non_finite(), "without a check");
  comm.blame(comm.rank());
  expect(steps.add("weight", weight) == 0, "a parameter");
  steps.begin();
  weight[1] += static_cast<float>(comm.rank());
  expect(steps.step().is_round_end == 0, "half of a round");
  const std::vector<std::byte> state = steps.saved_state();
  expect(steps.finish().has_results == 1, "the other half does not come");
  expect(weight[0] == 0 && weight[1] == 1.5F, "the mean of what there is");
  expect(steps.counters().steps == 1, "counters");
  fgc::Multistep again(comm, "", {"FASTGPU_COMM_MULTISTEP=local_steps=2"});
  again.add("weight", weight);
  again.begin();
  again.load_state(state);
  expect(weight[1] == 1 + static_cast<float>(comm.rank()), "a state is loaded");
  expect_failure([&] { again.weigh(-1); }, FGC_USAGE, "no weight");
  expect_failure([&] { fgc::Multistep(comm, "delay=3"); }, FGC_USAGE, "no mode");
}

void run_rank(int rank, int port, std::string& failure) {
  try {
    fgc::Communicator comm({"RANK=" + std::to_string(rank), "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1",
                            "MASTER_PORT=" + std::to_string(port)});
    check_collectives(comm);
    check_gradients(comm);
    check_gossip(comm);
    check_warnings(comm);
    check_multistep(comm);
    comm.barrier();
  } catch (const std::exception& e) {
    failure = "rank " + std::to_string(rank) + ": " + e.what();
  }
}

}  // namespace

int main() {
  std::array<std::string, 2> failures;
  const int port = free_port();
  {
    const std::jthread other([&] { run_rank(1, port, failures[1]); });
    run_rank(0, port, failures[0]);
  }
  for (const std::string& failure : failures)
    if (!failure.empty()) std::fprintf(stderr, "%s\n", failure.c_str());
  return failures[0].empty() && failures[1].empty() ? 0 : 1;
}
