// Ranks in processes of their own, whose collectives by a fabric are compared bit by bit with those
// by TCP.
//   fabric_ranks MODE RANKS [FIRST COUNT ADDRESS PORT]
// Starts COUNT ranks from FIRST on (by default all of them) that meet at ADDRESS (loopback), by TCP
// at PORT and by the fabric at the next one (free ports).
// FASTGPU_COMM_FABRIC* name the fabric. Exits with 77 if there is no fabric. The modes:
//   compare      every collective
//   train        the weights of a model after a training
//   remap        messages between memory that is unmapped and mapped anew at the same place
//   fork         sums, while children write to memory that was registered before they were forked
//   hmem         compare, by a provider that also takes memory of GPUs
//   strangers    compare, while other endpoints send all ranks what no rank sends
//   hybrid       what TCP and the fabric carry together
//   last         sums for ten seconds, in which others may disturb the network
//   hybrid-last  the same by TCP and the fabric together
//   cut          sums, while rank 1 shuts down the fabric's connections: right ones, or a soon end
//   hybrid-cut   the same by TCP and the fabric together: the sums go on
//   kill         rank 1 kills itself in the middle; the others must name it
//   hybrid-kill  the same by TCP and the fabric together
//   differ       rank 1 has FABRIC_RANKS_PROVIDER and FABRIC_RANKS_DEVICE in place of the others'
//   meet         a barrier, without ranks by TCP beside it
//   automatic    prints what a job takes by itself
//   time         prints how long all-reduces take
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "comm/common/deadline.hpp"
#include "comm/communicator/communicator.hpp"
#include "comm/communicator/join.hpp"
#include "comm/fabric/card.hpp"
#include "comm/fabric/fabric_endpoint.hpp"
#include "comm/gradients/gradient_exchange.hpp"
#include "comm/rendezvous/endpoint.hpp"
#include "comm/transports/fabric_frame.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

constexpr int kSkipped = 77;
constexpr std::size_t kLengths[] = {0, 1, 97, 1021, 4093, 70'001, 600'011};
constexpr std::string_view kModes[] = {"compare",    "train",  "remap",       "fork",        "hmem",
                                       "strangers",  "hybrid", "last",        "hybrid-last", "cut",
                                       "hybrid-cut", "kill",   "hybrid-kill", "differ",      "meet",
                                       "automatic",  "time"};

struct Group {
  int ranks = 2;
  int first = 0;
  int count = 2;
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  std::uint16_t fabric_port = 0;  ///< That of the ranks by a fabric, beside those by TCP.
};

/// Returns a variable, or another text if it is not set.
std::string variable(const char* name, const std::string& otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : value;
}

JobPlace place_of(const Group& group, int rank, NetworkTransport transport, bool is_other = false) {
  JobPlace place = job_place([&](std::string_view name) -> std::optional<std::string> {
    if (!name.starts_with("FASTGPU_COMM_")) return std::nullopt;
    const char* const value = std::getenv(std::string(name).c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
  place.rank = {rank};
  place.size = group.ranks;
  place.master_host = group.address;
  place.secret = Secret("only of this test");
  place.shared_memory = SharedMemory::off;
  place.transport = transport;
  if (is_other) {
    place.fabric.provider = variable("FABRIC_RANKS_PROVIDER", place.fabric.provider);
    place.fabric.device = variable("FABRIC_RANKS_DEVICE", place.fabric.device);
  }
  const bool is_fabric =
      transport == NetworkTransport::fabric || transport == NetworkTransport::hybrid;
  place.master_port = is_fabric ? group.fabric_port : group.port;
  place.fabric.need = is_fabric ? fabric::FabricNeed::must : fabric::FabricNeed::none;
  return place;
}

/// Numbers whose sums depend on the order of additions.
std::vector<float> numbers(int rank, std::size_t length) {
  // Quickly, because these ranks run in emulated machines, too.
  std::uint32_t random =
      static_cast<std::uint32_t>(rank * 1000 + 1) + static_cast<std::uint32_t>(length);
  std::vector<float> made(length);
  for (float& number : made) {
    random = random * 1'664'525U + 1'013'904'223U;
    number = static_cast<float>(random >> 8) * 0.001F;
  }
  return made;
}

std::span<const std::byte> bytes(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}
std::span<std::byte> bytes(std::vector<float>& values) {
  return std::as_writable_bytes(std::span(values));
}

std::vector<float> messages(Communicator& comm, const std::vector<float>& mine) {
  const int size = comm.size();
  const Rank next{(comm.rank().value + 1) % size};
  const Rank previous{(comm.rank().value + size - 1) % size};
  std::vector<float> theirs(mine.size());
  Handle sending = comm.start_send(bytes(mine), next);
  comm.receive(bytes(theirs), previous);
  sending.wait();
  return theirs;
}

std::vector<float> gradients(Communicator& comm, std::size_t length) {
  std::vector<float> large(length);
  std::vector<float> small(7);
  GradientExchange exchange(comm);
  exchange.add("large", std::span(large));
  exchange.add("small", std::span(small));
  std::vector<float> all;
  for (int step = 0; step < 3; ++step) {
    std::ranges::copy(numbers(comm.rank().value + step, length), large.begin());
    std::ranges::copy(numbers(comm.rank().value + step, small.size()), small.begin());
    exchange.all_reduce_gradients(ReduceOp::average);
    all.insert(all.end(), large.begin(), large.end());
    all.insert(all.end(), small.begin(), small.end());
  }
  return all;
}

constexpr std::size_t kFeatures = 301;

/// A model of one output for a few thousand examples, of which each rank has its share.
class Training {
 public:
  explicit Training(Communicator& comm) : comm_(comm), exchange_(comm) {
    exchange_.add("weights", std::span(weight_gradients_));
    exchange_.add("bias", std::span(&bias_gradient_, 1));
  }

  /// Returns the weights and the bias after some steps of gradient descent.
  std::vector<float> result() {
    for (int step = 0; step < 30; ++step) {
      compute_gradients(step);
      exchange_.all_reduce_gradients(ReduceOp::average);
      for (std::size_t i = 0; i < kFeatures; ++i)
        weights_[i] -= 0.01F * weight_gradients_[i];
      bias_ -= 0.01F * bias_gradient_;
    }
    std::vector<float> all = weights_;
    all.push_back(bias_);
    return all;
  }

 private:
  void compute_gradients(int step) {
    constexpr int kBatch = 8;
    std::ranges::fill(weight_gradients_, 0.0F);
    bias_gradient_ = 0;
    for (int i = 0; i < kBatch; ++i) {
      std::vector<float> example =
          numbers(comm_.rank().value * 4096 + step * kBatch + i, kFeatures + 1);
      for (float& value : example)
        value = value / 16'800.0F - 0.5F;
      float error = bias_ - example.back();
      for (std::size_t f = 0; f < kFeatures; ++f)
        error += weights_[f] * example[f];
      bias_gradient_ += error;
      for (std::size_t f = 0; f < kFeatures; ++f)
        weight_gradients_[f] += error * example[f];
    }
  }

  Communicator& comm_;
  GradientExchange exchange_;
  std::vector<float> weights_ = std::vector<float>(kFeatures);
  std::vector<float> weight_gradients_ = std::vector<float>(kFeatures);
  float bias_ = 0;
  float bias_gradient_ = 0;
};

/// Compares the weights after a training, of which at least one has changed.
int train(Communicator& tcp, Communicator& fabric) {
  const std::vector<float> expected = Training(tcp).result();
  const std::vector<float> got = Training(fabric).result();
  const bool has_learnt = std::ranges::any_of(expected, [](float weight) { return weight != 0; });
  if (has_learnt && std::memcmp(expected.data(), got.data(), 4 * expected.size()) == 0) return 0;
  std::fprintf(stderr, "the weights differ\n");
  return 1;
}

/// Every collective, as a function of a communicator and this rank's numbers.
std::vector<float> result_of(Communicator& comm, int collective, std::size_t length) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const int rank = comm.rank().value;
  std::vector<float> mine = numbers(rank, length);
  std::vector<float> all(length * ranks);
  const Reduction sum{ElementType::float32, ReduceOp::sum};
  switch (collective) {
    case 0:
      comm.all_reduce(bytes(mine), sum);
      return mine;
    case 1:
      comm.broadcast(bytes(mine), {comm.size() - 1});
      return mine;
    case 2:
      comm.all_gather(bytes(std::as_const(mine)), bytes(all));
      return all;
    case 3:
      comm.reduce_scatter(bytes(std::as_const(all = numbers(rank, length * ranks))), bytes(mine),
                          sum);
      return mine;
    case 4: {
      const std::vector<float> out = numbers(rank, length * ranks);
      comm.all_to_all(bytes(out), bytes(all));
      return all;
    }
    case 5:
      return messages(comm, mine);
    case 6: {
      const auto shared = comm.allocate(4 * length);
      std::memcpy(shared.data(), mine.data(), shared.size());
      comm.all_reduce(shared, sum);
      std::memcpy(mine.data(), shared.data(), shared.size());
      comm.free(shared);
      return mine;
    }
    default:
      return gradients(comm, length + 1);
  }
}
constexpr int kCollectives = 8;

int compare(Communicator& tcp, Communicator& fabric) {
  for (const std::size_t length : kLengths)
    for (int collective = 0; collective < kCollectives; ++collective) {
      const std::vector<float> expected = result_of(tcp, collective, length);
      const std::vector<float> got = result_of(fabric, collective, length);
      const bool is_same = expected.size() == got.size() &&
                           std::memcmp(expected.data(), got.data(), 4 * expected.size()) == 0;
      if (is_same) continue;
      std::fprintf(stderr, "collective %d of %zu numbers differs\n", collective, length);
      return 1;
    }
  return 0;
}

/// Compares, and fails unless both networks have carried much.
int compare_hybrid(Communicator& tcp, Communicator& hybrid) {
  if (const int status = compare(tcp, hybrid); status != 0) return status;
  int networks = 0;
  for (const LinkCounters& link : hybrid.links()) {
    if (hybrid.rank() == Rank{0})
      std::printf("%s has carried %llu bytes\n", link.name.c_str(),
                  static_cast<unsigned long long>(link.bytes_sent));
    if (link.bytes_sent > 100'000 && link.failures == 0) ++networks;
  }
  return networks == 2 ? 0 : 1;
}

/// Rank 1 kills itself in the middle; the others must name it, and soon.
int lose_one(Communicator& fabric) {
  std::vector<float> values(1 << 20);
  for (int i = 0;; ++i) {
    if (i == 5 && fabric.rank() == Rank{1}) ::kill(::getpid(), SIGKILL);
    try {
      fabric.all_reduce(std::span(values), ReduceOp::sum);
    } catch (const Error& e) {
      std::fprintf(stderr, "rank %d: %s\n", fabric.rank().value, e.what());
      return std::strstr(e.what(), "rank 1") == nullptr ? 1 : 0;
    }
  }
}

/// Checks sums until rank 0 has seen the time pass.
int last(Communicator& fabric) {
  const Deadline deadline(10s);
  const int ranks = fabric.size();
  const auto sum = static_cast<float>(ranks * (ranks + 1) / 2);
  std::vector<float> values(1 << 18);
  for (int calls = 1;; ++calls) {
    std::ranges::fill(values, static_cast<float>(fabric.rank().value + 1));
    values[0] = fabric.rank() == Rank{0} && deadline.passed() ? 1 : 0;
    fabric.all_reduce(std::span(values), ReduceOp::sum);
    const auto wrong =
        std::find_if(values.begin() + 1, values.end(), [&](float value) { return value != sum; });
    if (wrong != values.end()) {
      std::fprintf(stderr, "call %d: %f is not %f\n", calls, static_cast<double>(*wrong),
                   static_cast<double>(sum));
      return 1;
    }
    if (values[0] != 0) return 0;
  }
}

/// Returns the port of an address, the same for both families.
std::uint16_t port_of(std::span<const std::byte> address) {
  sockaddr_in known{};
  std::memcpy(&known, address.data(), std::min(address.size(), sizeof(known)));
  return ntohs(known.sin_port);
}

using NameOfSocket = int (*)(int socket, sockaddr* name, socklen_t* length);

/// Returns the port of one end of a socket; 0 if it has none.
std::uint16_t port_by(NameOfSocket name_of_socket, int socket) {
  sockaddr_storage name{};
  socklen_t length = sizeof(name);
  if (name_of_socket(socket, reinterpret_cast<sockaddr*>(&name), &length) != 0) return 0;
  if (name.ss_family != AF_INET && name.ss_family != AF_INET6) return 0;
  return port_of(std::as_bytes(std::span(&name, 1)));
}

/// Shuts down this process's connections that have one of these ports at an end, and returns their
/// number.
int shut_down_connections(const std::set<std::uint16_t>& ports) {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int socket = std::stoi(entry.path().filename().string());
    const std::uint16_t there = port_by(::getpeername, socket);
    const bool is_of_fabric =
        ports.contains(there) || ports.contains(port_by(::getsockname, socket));
    if (there != 0 && is_of_fabric) found.push_back(socket);
  }
  for (const int socket : found)
    ::shutdown(socket, SHUT_RDWR);
  return static_cast<int>(found.size());
}

/// Checks sums while rank 1 shuts down the connections of its endpoint, again and again.
int last_while_cut(Communicator& fabric, const std::set<std::uint16_t>& ports, bool may_end) {
  std::jthread cutter;
  if (fabric.rank() == Rank{1})
    cutter = std::jthread([&](const std::stop_token& stop) {
      for (int i = 0; i < 4 && !stop.stop_requested(); ++i) {
        std::this_thread::sleep_for(2s);
        std::fprintf(stderr, "%d connections of the fabric were shut down\n",
                     shut_down_connections(ports));
      }
    });
  const auto begin = std::chrono::steady_clock::now();
  try {
    return last(fabric);
  } catch (const Error& e) {
    constexpr auto kSoon = 45s;  // The first cut comes after 2 s.
    const auto took = std::chrono::steady_clock::now() - begin;
    std::fprintf(stderr, "rank %d: %s after %.1f s\n", fabric.rank().value, e.what(),
                 std::chrono::duration<double>(took).count());
    return may_end && took < kSoon && std::strstr(e.what(), "fabric") != nullptr ? 0 : 1;
  }
}

/// Numbers in memory of their own pages, at a place that is given or the system's choice.
class MappedNumbers {
 public:
  MappedNumbers(std::size_t count, void* place) : count_(count) {
    if (place != nullptr) memory_ = map(place, MAP_FIXED_NOREPLACE);
    if (memory_ == MAP_FAILED) memory_ = map(nullptr, 0);  // Other memory may be there now.
    if (memory_ == MAP_FAILED) throw system_error("mapping memory", errno);
  }
  MappedNumbers(const MappedNumbers&) = delete;
  MappedNumbers& operator=(const MappedNumbers&) = delete;
  ~MappedNumbers() { ::munmap(memory_, count_ * sizeof(float)); }

  void* place() const { return memory_; }
  std::span<float> values() const { return {static_cast<float*>(memory_), count_}; }

 private:
  void* map(void* place, int flags) const {
    return ::mmap(place, count_ * sizeof(float), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  }

  std::size_t count_;
  void* memory_ = MAP_FAILED;
};

/// Exchanges messages, each in pages that did not exist before, at addresses that did. A
/// registration that outlives its pages would send, or receive, others.
int use_memory_mapped_anew(Communicator& fabric) {
  constexpr int kTimes = 6;
  const int size = fabric.size();
  const Rank next{(fabric.rank().value + 1) % size};
  const Rank previous{(fabric.rank().value + size - 1) % size};
  for (const std::size_t count :
       {std::size_t{10'007}, std::size_t{50'021}, std::size_t{3'000'017}}) {
    void* out_place = nullptr;
    void* in_place = nullptr;
    for (int i = 0; i < kTimes; ++i) {
      const MappedNumbers out(count, out_place);
      const MappedNumbers in(count, in_place);
      out_place = out.place();
      in_place = in.place();
      std::ranges::copy(numbers(fabric.rank().value + i, count), out.values().begin());
      Handle sending = fabric.start_send(std::as_bytes(out.values()), next);
      fabric.receive(std::as_writable_bytes(in.values()), previous);
      sending.wait();
      if (std::ranges::equal(in.values(), numbers(previous.value + i, count))) continue;
      std::fprintf(stderr, "message %d of %zu numbers is not what was sent\n", i, count);
      return 1;
    }
  }
  return 0;
}

/// Sums memory of two kinds, and returns whether all sums are right.
bool has_right_sums(Communicator& fabric, std::span<float> registered, std::span<float> other) {
  const auto ranks = static_cast<float>(fabric.size());
  const float sum = ranks * (ranks + 1) / 2;
  for (const std::span<float> values : {registered, other}) {
    std::ranges::fill(values, static_cast<float>(fabric.rank().value + 1));
    fabric.all_reduce(values, ReduceOp::sum);
    if (std::ranges::any_of(values, [&](float value) { return value != sum; })) return false;
  }
  return true;
}

/// A child that was forked from a rank: writes to all memory, and ends with or without the
/// destructors of libraries.
[[noreturn]] void be_child(std::span<float> registered, std::span<float> other, bool is_quick) {
  std::ranges::fill(registered, -1.0F);
  std::ranges::fill(other, -1.0F);
  std::this_thread::sleep_for(300ms);
  if (is_quick) ::_exit(0);
  std::exit(0);
}

int status_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int fork_children(Communicator& fabric) {
  constexpr std::size_t kNumbers = 200'003;
  const auto memory = fabric.allocate(sizeof(float) * kNumbers);
  const std::span registered(reinterpret_cast<float*>(memory.data()), kNumbers);
  std::vector<float> other(kNumbers);
  for (int i = 0; i < 4; ++i) {
    if (!has_right_sums(fabric, registered, other)) return 1;
    const pid_t child = ::fork();
    if (child == 0) be_child(registered, other, i % 2 == 0);
    for (int calls = 0; calls < 5; ++calls)
      if (!has_right_sums(fabric, registered, other)) return 1;
    if (const int status = status_of(child); status != 0) {
      std::fprintf(stderr, "child %d ended with %d\n", i, status);
      return 1;
    }
  }
  return has_right_sums(fabric, registered, other) ? 0 : 1;
}

/// Returns the addresses of all endpoints but this rank's.
std::vector<std::vector<std::byte>> other_addresses(Communicator& tcp, const fabric::Card& card) {
  std::vector<std::byte> mine = encode(card);
  mine.insert(mine.begin(), static_cast<std::byte>(mine.size()));
  mine.resize(1 + fabric::kMaxCard);
  std::vector<std::byte> all(mine.size() * static_cast<std::size_t>(tcp.size()));
  tcp.all_gather(mine, all);
  std::vector<std::vector<std::byte>> addresses;
  for (std::size_t at = 0; at < all.size(); at += mine.size()) {
    const auto encoded = std::span(all).subspan(at + 1, static_cast<std::size_t>(all[at]));
    const fabric::Card other = fabric::decode_card(encoded);
    if (other.token != card.token) addresses.push_back(other.address);
  }
  return addresses;
}

/// Sends random bytes to all of them, some of which begin as frames do, until it is stopped.
void disturb(const std::stop_token& stop, fabric::FabricEndpoint& endpoint,
             const std::vector<std::vector<std::byte>>& addresses) {
  std::vector<fabric::PeerNumber> peers;
  for (const auto& address : addresses)
    peers.push_back(endpoint.add_peer(address).value());
  std::minstd_rand random(7);
  std::vector<std::byte> frame(kFabricFrameBytes);
  const std::size_t head =
      encode({.kind = FabricFrameKind::question, .token = 12345}, std::span(frame));
  const std::size_t longest = std::min<std::size_t>(endpoint.traits().inject_bytes, 4096);
  std::array<fabric::PortCompletion, 16> completions;
  while (!stop.stop_requested()) {
    for (std::size_t i = random() % 2 == 0 ? 0 : head; i < longest; ++i)
      frame[i] = static_cast<std::byte>(random());
    for (const fabric::PeerNumber peer : peers)
      endpoint.inject(peer, std::span(frame).first(random() % longest + 1));
    endpoint.poll(completions);
    std::this_thread::sleep_for(1ms);
  }
}

int compare_among_strangers(Communicator& tcp, Communicator& fabric, const fabric::Card& card,
                            const JobPlace& place) {
  const auto addresses = other_addresses(tcp, card);
  const auto endpoint = fabric::open_endpoint(place.fabric, {place.size, ""}).endpoint;
  const std::jthread stranger(
      [&](const std::stop_token& stop) { disturb(stop, *endpoint, addresses); });
  return compare(tcp, fabric);
}

double seconds_of(Communicator& comm, std::size_t count, int times) {
  const auto memory = comm.allocate(count);
  comm.all_reduce(memory, {ElementType::float32, ReduceOp::sum});
  comm.barrier();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < times; ++i)
    comm.all_reduce(memory, {ElementType::float32, ReduceOp::sum});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  comm.free(memory);
  return took.count() / times;
}

int time_both(Communicator& tcp, Communicator& fabric) {
  for (const std::size_t count : {std::size_t{8}, std::size_t{65'536}, std::size_t{64} << 20}) {
    const int times = count > 1'000'000 ? 5 : 500;
    for (int i = 0; i < 3; ++i) {
      const double by_tcp = seconds_of(tcp, count, times);
      const double by_fabric = seconds_of(fabric, count, times);
      if (tcp.rank() == Rank{0})
        std::printf("%zu B: tcp %.1f us, fabric %.1f us\n", count, by_tcp * 1e6, by_fabric * 1e6);
    }
  }
  return 0;
}

/// Prints what a job without settings takes, or why it takes TCP.
int take_automatically(const Group& group, int rank) {
  JobPlace place = place_of(group, rank, NetworkTransport::automatic, rank == 1);
  place.fabric.need = fabric::FabricNeed::welcome;
  Connections connections = join(place);
  const std::string taken = connections.fabric ? connections.fabric->traits().provider : "tcp";
  std::printf("rank %d takes %s\n%s\n", rank, taken.c_str(), connections.network_report.c_str());
  std::fflush(stdout);
  Communicator(std::move(connections)).barrier();
  return 0;
}

int meet(const Group& group, int rank) {
  JobPlace place = place_of(group, rank, NetworkTransport::fabric);
  place.master_port = group.port;
  Communicator(join(place)).barrier();
  return 0;
}

int run_rank(const Group& group, int rank, std::string_view what) try {
  if (what == "automatic") return take_automatically(group, rank);
  if (what == "meet") return meet(group, rank);
  Communicator tcp(join(place_of(group, rank, NetworkTransport::tcp)));
  const bool is_hybrid = what.starts_with("hybrid");
  JobPlace place =
      place_of(group, rank, is_hybrid ? NetworkTransport::hybrid : NetworkTransport::fabric,
               what == "differ" && rank == 1);
  if (what == "hmem") place.fabric.gpudirect = fabric::GpuDirect::always;
  Connections connections = join(place);
  if (what == "hmem" && !connections.fabric->traits().takes_device_memory)
    throw Error(ErrorKind::not_found, "this provider has no FI_HMEM");
  if (rank == 0)
    std::printf("%s on %s, put by %s\n", connections.fabric->traits().provider.c_str(),
                connections.fabric->traits().device.c_str(),
                std::string(name_of(connections.fabric->traits().put)).c_str());
  std::fflush(stdout);
  const fabric::Card card = connections.fabric->card();
  const bool is_cut = what.ends_with("cut");
  std::set<std::uint16_t> ports;
  if (is_cut)
    for (const auto& address : other_addresses(tcp, card))
      ports.insert(port_of(address));
  ports.insert(port_of(card.address));
  Communicator fabric(std::move(connections));
  if (is_cut) return last_while_cut(fabric, ports, what == "cut");
  if (what == "last" || what == "hybrid-last") return last(fabric);
  if (what == "train") return train(tcp, fabric);
  if (what == "fork") return fork_children(fabric);
  if (what == "strangers") return compare_among_strangers(tcp, fabric, card, place);
  if (what == "compare" || what == "hmem") return compare(tcp, fabric);
  if (what == "kill" || what == "hybrid-kill") return lose_one(fabric);
  if (what == "hybrid") return compare_hybrid(tcp, fabric);
  if (what == "remap") return use_memory_mapped_anew(fabric);
  return time_both(tcp, fabric);
} catch (const Error& e) {
  std::fprintf(stderr, "rank %d: %s\n", rank, e.what());
  return e.kind() == ErrorKind::not_found ? kSkipped : 1;
}

int run(const std::vector<std::string>& arguments) {
  Group group;
  const std::string what = arguments.at(1);
  group.ranks = group.count = std::stoi(arguments.at(2));
  if (arguments.size() == 7) {
    group.first = std::stoi(arguments[3]);
    group.count = std::stoi(arguments[4]);
    group.address = arguments[5];
    group.port = static_cast<std::uint16_t>(std::stoi(arguments[6]));
    group.fabric_port = static_cast<std::uint16_t>(group.port + 1);
  } else {
    const Endpoint loopback{.address = {std::byte{127}, {}, {}, std::byte{1}}};
    const UniqueFd one = listen_at(loopback);
    const UniqueFd other = listen_at(loopback);
    group.port = local_end(one.get()).port;
    group.fabric_port = local_end(other.get()).port;
  }
  std::vector<pid_t> children;
  for (int rank = group.first; rank < group.first + group.count; ++rank) {
    const pid_t child = ::fork();
    if (child == 0) ::exit(run_rank(group, rank, what));
    children.push_back(child);
  }
  int worst = 0;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const int status = status_of(children[i]);
    const bool is_victim = what.ends_with("kill") && group.first + static_cast<int>(i) == 1;
    if (status != 0 && !is_victim) worst = status;
  }
  return worst;
}

}  // namespace
}  // namespace fastgpu::comm

int main(int count, char** values) {
  const std::vector<std::string> arguments(values, values + count);
  const auto& modes = fastgpu::comm::kModes;
  const bool is_known =
      count > 1 && std::find(std::begin(modes), std::end(modes), arguments[1]) != std::end(modes);
  if (!is_known || (count != 3 && count != 7)) {
    std::fprintf(stderr, "usage: fabric_ranks MODE RANKS [FIRST COUNT ADDRESS PORT]\nmodes:");
    for (const std::string_view mode : modes)
      std::fprintf(stderr, " %s", std::string(mode).c_str());
    std::fprintf(stderr, "\n");
    return 2;
  }
  return fastgpu::comm::run(arguments);
}
