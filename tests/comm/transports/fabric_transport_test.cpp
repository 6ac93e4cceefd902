// The transport by the fabric, over a stand-in for libfabric in which ranks are threads.
#include "comm/transports/fabric_transport.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "comm/communicator/communicator.hpp"
#include "support/connect_in_process.hpp"
#include "support/fabric_in_process.hpp"
#include "support/failure.hpp"
#include "support/run_ranks.hpp"
#include "support/transport_checks.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using test::able_to_leave;
using test::FabricWire;
using test::failure_in;
using test::failure_of;
using test::mentions;
using test::numbers;
using test::outcomes_of_ranks;
using test::run_ranks;
using test::sums;
using Reports = test::TransportReports;
using test::WireTraits;

/// About what goes in a frame, and about the pieces of what does not.
constexpr std::size_t kLengths[] = {0, 1, 513, 4081, 4083, 70'001, 1'000'003};

void connect(std::vector<std::unique_ptr<FabricTransport>>& transports) {
  for (std::size_t a = 0; a < transports.size(); ++a)
    for (std::size_t b = 0; b < transports.size(); ++b)
      if (a != b)
        REQUIRE(transports[a]->connect({static_cast<int>(b)},
                                       fabric::decode_card(encode(transports[b]->card()))));
}

std::vector<Communicator> communicators_by(const std::shared_ptr<FabricWire>& wire, int size,
                                           std::chrono::milliseconds timeout = 20s) {
  auto connections = test::sockets_in_process(size, timeout);
  run_ranks(connections, [](Connections& rank) {
    introduce(rank, {.shared_memory = SharedMemory::off, .flows = 1}, Deadline(20s));
  });
  std::vector<std::unique_ptr<FabricTransport>> transports;
  for (const Connections& rank : connections)
    transports.push_back(std::make_unique<FabricTransport>(rank.rank, size, wire->endpoint()));
  connect(transports);
  std::vector<Communicator> ranks;
  for (std::size_t r = 0; r < connections.size(); ++r) {
    connections[r].fabric = std::move(transports[r]);
    ranks.emplace_back(std::move(connections[r]));
  }
  return ranks;
}

/// Every way of putting, with every demand that a provider may make.
std::vector<WireTraits> all_wires() {
  std::vector<WireTraits> all;
  for (const fabric::Put put : fabric::kPuts)
    for (const bool needs_local : {false, true})
      for (const bool has_addresses : {false, true})
        all.push_back({.put = put,
                       .needs_local = needs_local,
                       .has_addresses = has_addresses,
                       .inject_bytes = has_addresses ? 0U : 64U});
  return all;
}

/// Two ranks that the test drives itself.
struct Pair {
  explicit Pair(const WireTraits& traits = {}, std::optional<std::size_t> copy_limit = {})
      : wire(std::make_shared<FabricWire>(traits)) {
    for (int r = 0; r < 2; ++r)
      ranks.push_back(std::make_unique<FabricTransport>(Rank{r}, 2, wire->endpoint(), copy_limit));
    connect(ranks);
    for (std::size_t r = 0; r < 2; ++r)
      ranks[r]->open(reports[r]);
  }

  /// Sends a message from rank 0 to rank 1, and returns whether it came as it was.
  bool brings(std::uint64_t tag, std::size_t bytes) {
    const std::vector<std::byte> out(bytes, static_cast<std::byte>(tag + 1));
    std::vector<std::byte> in(bytes);
    Outgoing sent{.peer = {1}, .tag = {tag}, .bytes = out};
    Incoming received{.peer = {0}, .tag = {tag}, .sink = {.memory = in}};
    const int before = reports[1].received_messages;
    ranks[0]->send(sent);
    ranks[1]->receive(received);
    for (int i = 0; i < 100 && reports[1].received_messages == before; ++i)
      progress();
    progress();
    return in == out && sent.moved == bytes;
  }

  void progress(int turns = 20) const {
    for (int i = 0; i < turns; ++i)
      for (const auto& rank : ranks)
        if (rank) rank->progress();
  }

  std::shared_ptr<FabricWire> wire;
  Reports reports[2];
  std::vector<std::unique_ptr<FabricTransport>> ranks;
};

/// Rank 1 of two, whose frames from rank 0 the test writes itself.
struct Victim {
  explicit Victim(fabric::Put put = fabric::Put::none)
      : wire(std::make_shared<FabricWire>(WireTraits{.put = put})),
        transport({1}, 2, wire->endpoint()),
        impostor(wire->endpoint()),
        to(impostor->add_peer(transport.card().address).value()) {
    fabric::Card card = transport.card();
    card.address = impostor->address();
    REQUIRE(transport.connect({0}, card));
    transport.open(reports);
  }

  FabricFrame frame(FabricFrameKind kind) const {
    return {.kind = kind, .rank = 0, .token = transport.card().token};
  }
  void send(const FabricFrame& frame) {
    std::vector<std::byte> bytes(kFabricFrameBytes);
    bytes.resize(encode(frame, bytes));
    send(bytes);
  }
  void send(std::span<const std::byte> bytes) {
    impostor->inject(to, bytes);
    for (int i = 0; i < 5; ++i)
      transport.progress();
  }
  Error failure() const { return reports.failure.value(); }

  std::shared_ptr<FabricWire> wire;
  Reports reports;
  FabricTransport transport;
  std::unique_ptr<fabric::FabricEndpoint> impostor;
  fabric::PeerNumber to;
};

TEST_SUITE_BEGIN("comm/fabric_transport");

TEST_CASE("transports that meet reach each other, and exchange messages as before") {
  constexpr int kRanks = 3;
  auto wire = std::make_shared<FabricWire>(WireTraits{});
  std::vector<std::unique_ptr<FabricTransport>> transports;
  for (int r = 0; r < kRanks; ++r)
    transports.push_back(std::make_unique<FabricTransport>(Rank{r}, kRanks, wire->endpoint()));
  connect(transports);
  run_ranks(transports, [](std::unique_ptr<FabricTransport>& rank) {
    CHECK(rank->meet(Deadline(20s)).empty());
  });
  std::vector<Reports> reports(2);
  transports[0]->open(reports[0]);
  transports[1]->open(reports[1]);
  std::vector<std::byte> out(70'001, std::byte{5});
  std::vector<std::byte> in(out.size());
  Outgoing sent{.peer = {1}, .tag = {1}, .bytes = out};
  Incoming received{.peer = {0}, .tag = {1}, .sink = {.memory = in}};
  transports[0]->send(sent);
  transports[1]->receive(received);
  const Deadline deadline(20s);
  while (reports[1].received_messages == 0 && !deadline.passed())
    for (std::size_t r = 0; r < 2; ++r)
      transports[r]->progress();
  CHECK(in == out);
}

TEST_CASE("a rank that does not answer by the fabric is named, and not reached by it") {
  auto wire = std::make_shared<FabricWire>(WireTraits{});
  std::vector<std::unique_ptr<FabricTransport>> transports;
  for (int r = 0; r < 3; ++r)
    transports.push_back(std::make_unique<FabricTransport>(Rank{r}, 3, wire->endpoint()));
  connect(transports);
  std::vector<std::unique_ptr<FabricTransport>> present;
  present.push_back(std::move(transports[0]));
  present.push_back(std::move(transports[2]));
  run_ranks(present, [](std::unique_ptr<FabricTransport>& rank) {
    const auto failures = rank->meet(Deadline(300ms));
    REQUIRE(failures.size() == 1);
    CHECK(failures.begin()->first == Rank{1});
    CHECK(failures.begin()->second.starts_with("it does not answer by "));
    CHECK_FALSE(rank->reaches({1}));
  });
  CHECK(present[0]->reaches({2}));
  CHECK(present[1]->reaches({0}));
}

TEST_CASE("a frame of the fabric is read as it was written") {
  const std::array inside{std::byte{7}, std::byte{8}};
  const Note note{std::byte{1}};
  const FabricGrant grant{.total = 9'000'000'000,
                          .offset = 8'000'000'000,
                          .length = 1000,
                          .number = 77,
                          .is_tagged = true,
                          .place = {1, 2}};
  FabricFrame frames[] = {
      {.kind = FabricFrameKind::message, .note = note, .bytes = inside},
      {.kind = FabricFrameKind::message, .bytes = inside},
      {.kind = FabricFrameKind::note, .note = note},
      {.kind = FabricFrameKind::grant, .grant = grant},
      {.kind = FabricFrameKind::done, .grant = {.length = 1000, .number = 77}},
      {.kind = FabricFrameKind::credit, .credit = std::uint64_t{1} << 40, .items = 7},
      {.kind = FabricFrameKind::question},
      {.kind = FabricFrameKind::farewell},
  };
  std::vector<std::byte> bytes(kFabricFrameBytes);
  for (FabricFrame& frame : frames) {
    frame.rank = 3;
    frame.token = ~std::uint64_t{9};
    frame.tag = {~std::uint64_t{5}};
    const std::size_t length = encode(frame, bytes);
    const FabricFrame read = decode_fabric_frame(std::span(bytes).first(length));
    CHECK(read.kind == frame.kind);
    CHECK(read.rank == 3);
    CHECK(read.token == frame.token);
    CHECK(read.tag == frame.tag);
    CHECK(read.note == frame.note);
    CHECK(std::ranges::equal(read.bytes, frame.bytes));
    CHECK(read.credit == frame.credit);
    CHECK(read.items == frame.items);
    CHECK(read.grant.number == frame.grant.number);
    CHECK(read.grant.offset == frame.grant.offset);
    CHECK(read.grant.place.key == frame.grant.place.key);
    FabricSender sender;
    CHECK(read_sender(std::span(bytes).first(length), sender));
    CHECK(sender.token == frame.token);
    if (frame.kind == FabricFrameKind::message) continue;
    for (const std::size_t wrong : {length - 1, length + 1})
      CHECK(failure_of([&] { decode_fabric_frame(std::span(bytes).first(wrong)); }).kind() ==
            ErrorKind::remote);
  }
}

TEST_CASE("grants that make no sense are refused") {
  const FabricGrant grants[] = {
      {.total = 10, .offset = 0, .length = 0},
      {.total = 10, .offset = 8, .length = 3},
      {.total = 10, .offset = 11, .length = 1},
      {.total = 10, .offset = ~std::uint64_t{0}, .length = 2},
      {.total = ~std::uint64_t{0}, .offset = 0, .length = kFabricPiece + 1},
  };
  std::vector<std::byte> bytes(kFabricFrameBytes);
  for (const FabricGrant& grant : grants) {
    const std::size_t length = encode({.kind = FabricFrameKind::grant, .grant = grant}, bytes);
    CHECK(failure_of([&] { decode_fabric_frame(std::span(bytes).first(length)); }).kind() ==
          ErrorKind::remote);
  }
}

TEST_CASE("the card of an endpoint is read as it was written, and nothing else is") {
  const fabric::Card card{.provider = "tcp;ofi_rxm",
                          .protocol = 11,
                          .put = fabric::Put::delivered,
                          .is_hardware = true,
                          .token = 5,
                          .address = std::vector<std::byte>(fabric::kMaxAddress, std::byte{9})};
  const std::vector<std::byte> bytes = encode(card);
  CHECK(bytes.size() <= fabric::kMaxCard);
  const fabric::Card read = fabric::decode_card(bytes);
  CHECK(read.provider == card.provider);
  CHECK(read.protocol == 11);
  CHECK(read.put == fabric::Put::delivered);
  CHECK(read.is_hardware);
  CHECK(read.token == 5);
  CHECK(read.address == card.address);
  for (std::size_t length = 0; length < bytes.size(); ++length)
    CHECK(failure_of([&] { fabric::decode_card(std::span(bytes).first(length)); }).kind() ==
          ErrorKind::remote);
  std::vector<std::byte> steers_terminal = bytes;
  steers_terminal[3] = std::byte{27};
  CHECK(failure_of([&] { fabric::decode_card(steers_terminal); }).kind() == ErrorKind::remote);
}

TEST_CASE("an all-reduce by the fabric has the sums of all, however bytes are put") {
  for (const WireTraits& traits : all_wires()) {
    for (const int size : {2, 3, 4}) {
      auto ranks = communicators_by(std::make_shared<FabricWire>(traits), size);
      CAPTURE(name_of(traits.put));
      for (const std::size_t length : kLengths)
        test::check_sums(ranks, length);
    }
  }
}

TEST_CASE("copies by the fabric arrive whole, whichever side asks first") {
  for (const WireTraits& traits : all_wires()) {
    auto ranks = communicators_by(std::make_shared<FabricWire>(traits), 4);
    CAPTURE(name_of(traits.put));
    for (const std::size_t length : kLengths)
      test::check_copies(ranks, length);
  }
}

TEST_CASE("memory of the communicator is registered once, however often it is used") {
  const auto wire =
      std::make_shared<FabricWire>(WireTraits{.put = fabric::Put::with_data, .needs_local = true});
  auto ranks = communicators_by(wire, 2);
  int after_first = 0;
  run_ranks(ranks, [&](Communicator& comm) {
    const auto memory = comm.allocate(8'000'000);
    for (int i = 0; i < 5; ++i) {
      comm.all_reduce(memory, {ElementType::float32, ReduceOp::sum});
      comm.barrier();
      if (i == 0 && comm.rank() == Rank{0}) after_first = wire->registrations;
      comm.barrier();
    }
    comm.free(memory);
  });
  CHECK(wire->registrations == after_first);
}

TEST_CASE("the program's memory is copied up to the limit, and registered for one piece above it") {
  constexpr std::size_t kLimit = 100'000;
  for (const WireTraits& traits : all_wires()) {
    const bool are_registered_there = traits.put != fabric::Put::none || traits.needs_local;
    const int registered = int(are_registered_there) + int(traits.needs_local);
    Pair pair(traits, kLimit);
    CHECK(pair.brings(1, kLimit));
    const int before = pair.wire->registrations;
    CHECK(pair.brings(2, kLimit));
    CHECK(pair.wire->registrations == before);
    CHECK(pair.brings(3, kLimit + 1));
    CHECK(pair.wire->registrations == before + registered);
    CHECK(pair.brings(4, kLimit + 1));
    CHECK(pair.wire->registrations == before + 2 * registered);
  }
}

TEST_CASE("the limit of copies is measured") {
  const auto wire = std::make_shared<FabricWire>(WireTraits{});
  const auto endpoint = wire->endpoint();
  const int before = wire->registrations;
  CHECK(measured_copy_limit(*endpoint) <= kMaxCopied);
  CHECK(wire->registrations > before);
}

TEST_CASE("what may not be registered is copied, and that is reported once") {
  constexpr std::size_t kMebibyte = 1 << 20;
  for (const fabric::Put put : fabric::kPuts) {
    // Frames, blocks for copies, and no more than two pieces have room.
    Pair pair({.put = put, .needs_local = true, .lockable = 17 * kMebibyte}, 0);
    for (std::uint64_t tag = 0; tag < 3; ++tag)
      CHECK(pair.brings(tag, 33 * kMebibyte + 5));
    const auto warnings = pair.reports[0].warnings.size() + pair.reports[1].warnings.size();
    CHECK(warnings >= 1);
    for (const Reports& reports : pair.reports) {
      CHECK(reports.losses == 0);
      CHECK(reports.warnings.size() <= 1);
    }
  }
}

TEST_CASE("a fabric that may lock next to nothing is an error before any message") {
  const auto wire =
      std::make_shared<FabricWire>(WireTraits{.needs_local = true, .lockable = 65'536});
  CHECK(failure_of([&] { FabricTransport({0}, 2, wire->endpoint()); }).kind() ==
        ErrorKind::capacity);
}

/// Takes all memory for that of GPU 3.
fabric::MemoryLocation on_gpu(const void* /*memory*/) {
  return {.kind = fabric::MemoryKind::cuda, .device = 3};
}

TEST_CASE("long messages go directly from and to memory of GPUs, which is registered for them") {
  constexpr std::size_t kBytes = 9'000'001;
  for (const fabric::Put put : fabric::kPuts) {
    CAPTURE(name_of(put));
    Pair pair({.put = put, .takes_device_memory = true});
    for (const auto& rank : pair.ranks)
      rank->find_locations_by(on_gpu);
    std::vector<std::byte> out(kBytes, std::byte{5});
    std::vector<std::byte> in(kBytes);
    REQUIRE(pair.ranks[0]->take_device_memory(out));
    REQUIRE(pair.ranks[0]->take_device_memory(out));
    REQUIRE(pair.ranks[1]->take_device_memory(in));
    const int registrations = pair.wire->registrations;
    Outgoing sent{.peer = {1}, .tag = {1}, .bytes = out};
    Incoming received{.peer = {0}, .tag = {1}, .sink = {.memory = in}};
    pair.ranks[0]->send(sent);
    pair.ranks[1]->receive(received);
    pair.ranks[0]->give_back_device_memory(out);
    pair.progress(200);
    CHECK(in == out);
    CHECK(pair.wire->device_registrations == 2);
    CHECK(pair.wire->registrations == registrations);  // Nothing was copied or registered besides.
    CHECK(pair.ranks[0]->links().front().direct_bytes == 2 * kBytes);
    pair.ranks[0]->give_back_device_memory(out);
    pair.ranks[1]->give_back_device_memory(in);
  }
}

TEST_CASE("memory of GPUs that the fabric does not take passes through the host, for a reason") {
  std::vector<std::byte> memory(100'003);
  const auto takes = [&](Pair& pair) { return pair.ranks[0]->take_device_memory(memory); };
  Pair of_host({.takes_device_memory = true});
  CHECK_FALSE(takes(of_host));
  Pair unable;
  unable.ranks[0]->find_locations_by(on_gpu);
  CHECK_FALSE(takes(unable));
  CHECK(unable.ranks[0]->report_of_device_memory().ends_with("lacks FI_HMEM for it"));
  Pair refusing({.takes_device_memory = true});
  refusing.ranks[0]->find_locations_by(on_gpu);
  refusing.wire->refuses_devices = true;
  CHECK_FALSE(takes(refusing));
  refusing.wire->refuses_devices = false;
  CHECK_FALSE(takes(refusing));
  CHECK(refusing.reports[0].warnings ==
        std::vector<std::string>{"messages between hosts pass through pinned memory of the host: "
                                 "wire on test has refused it: no memory of GPU 3"});
  Pair able({.takes_device_memory = true});
  able.ranks[0]->find_locations_by(on_gpu);
  CHECK_FALSE(able.ranks[0]->take_device_memory(std::span(memory).first(16'000)));
  CHECK(takes(able));
  able.ranks[0]->forbid_device_memory();
  CHECK_FALSE(takes(able));
}

TEST_CASE("pieces are as short as the fabric needs them") {
  auto ranks = communicators_by(std::make_shared<FabricWire>(WireTraits{.most_bytes = 32'768}), 2);
  std::vector<float> result;
  run_ranks(ranks, [&](Communicator& comm) {
    auto values = numbers(comm.rank(), 100'001);
    comm.all_reduce(std::span(values), ReduceOp::sum);
    if (comm.rank() == Rank{0}) result = values;
  });
  CHECK(result == sums(2, 100'001));
}

TEST_CASE("gradients are exchanged by the fabric") {
  auto ranks =
      communicators_by(std::make_shared<FabricWire>(WireTraits{.put = fabric::Put::then_send}), 3);
  test::check_gradients(ranks);
}

TEST_CASE("a queue that is full is tried again, until there is room") {
  for (const fabric::Put put : fabric::kPuts) {
    const auto wire = std::make_shared<FabricWire>(WireTraits{.put = put});
    auto ranks = communicators_by(wire, 2);
    wire->is_full = true;
    std::vector<std::vector<float>> results(2);
    std::jthread emptied([&] {
      std::this_thread::sleep_for(200ms);
      wire->is_full = false;
    });
    run_ranks(ranks, [&](Communicator& comm) {
      auto values = numbers(comm.rank(), 70'001);
      comm.all_reduce(std::span(values), ReduceOp::sum);
      results[static_cast<std::size_t>(comm.rank().value)] = values;
    });
    CHECK(results[0] == sums(2, 70'001));
    CHECK(results[1] == sums(2, 70'001));
  }
}

TEST_CASE("a queue that stays full ends the call at the deadline, with a rank's name") {
  const auto wire = std::make_shared<FabricWire>(WireTraits{.put = fabric::Put::with_data});
  auto ranks = communicators_by(wire, 2, 300ms);
  wire->is_full = true;
  const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
    std::vector<float> values(70'001);
    comm.all_reduce(std::span(values), ReduceOp::sum);
  });
  CHECK(mentions(failure_in(outcomes[0]), "rank "));
  CHECK(mentions(failure_in(outcomes[0]), " nothing for 300ms"));
}

TEST_CASE("a queue of completions that has overrun ends every call, with the reason") {
  for (const fabric::Put put : fabric::kPuts) {
    auto ranks = communicators_by(
        std::make_shared<FabricWire>(WireTraits{.put = put, .queue_length = 1}), 2);
    const auto begin = std::chrono::steady_clock::now();
    const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
      std::vector<float> values(700'001);
      for (int calls = 0; calls < 1000; ++calls)
        comm.all_reduce(std::span(values), ReduceOp::sum);
    });
    for (const auto& outcome : outcomes)
      CHECK(mentions(failure_in(outcome), "the queue has overrun"));
    CHECK(std::chrono::steady_clock::now() - begin < 10s);
  }
}

TEST_CASE("messages that the fabric has lost end the calls within a minute, with the reason") {
  const auto lose_some = [](fabric::Put put) {
    const auto wire = std::make_shared<FabricWire>(WireTraits{.put = put});
    auto ranks = communicators_by(wire, 2, 600s);
    const auto begin = std::chrono::steady_clock::now();
    const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
      std::vector<float> values(70'001);
      for (int calls = 0; calls < 100; ++calls) {
        if (calls == 50 && comm.rank() == Rank{0}) wire->lost = 3;
        comm.all_reduce(std::span(values), ReduceOp::sum);
      }
    });
    for (const auto& outcome : outcomes)
      CHECK(mentions(failure_in(outcome), " got lost in the fabric"));
    CHECK(std::chrono::steady_clock::now() - begin < 60s);
  };
  std::vector<std::jthread> jobs;  // Each waits for 20 s.
  for (const fabric::Put put : fabric::kPuts)
    jobs.emplace_back(lose_some, put);
}

TEST_CASE("a connection that breaks while only copies are sent ends the calls soon") {
  const auto wire = std::make_shared<FabricWire>(WireTraits{});
  auto ranks = communicators_by(wire, 2, 600s);
  const auto begin = std::chrono::steady_clock::now();
  const auto outcomes = outcomes_of_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> values(1);
    for (int calls = 0; calls < 100; ++calls) {
      if (calls == 50 && comm.rank() == Rank{0}) wire->is_cut = true;
      comm.all_reduce(std::span(values), ReduceOp::sum);
    }
  });
  for (const auto& outcome : outcomes)
    CHECK(mentions(failure_in(outcome), "the fabric (wire on test): error 5"));
  CHECK(std::chrono::steady_clock::now() - begin < 20s);
}

TEST_CASE("a rank that only waits notices that its connection is broken") {
  const auto wire = std::make_shared<FabricWire>(WireTraits{});
  auto ranks = communicators_by(wire, 2, 600s);
  run_ranks(ranks, [](Communicator& comm) { comm.barrier(); });
  wire->is_cut = true;
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::byte> in(10);
  const Error error = failure_of([&] { ranks[1].receive(in, Rank{0}); });
  CHECK(mentions(error, "rank 0"));
  CHECK(mentions(error, "error 5"));
  CHECK(std::chrono::steady_clock::now() - begin < 20s);
}

TEST_CASE("a rank that leaves awaits the last frame of one that leaves soon after") {
  constexpr std::size_t kPieces = 70'001;  // Both ranks send frames for it.
  Pair pair;
  REQUIRE(pair.brings(1, kPieces));
  const auto begin = std::chrono::steady_clock::now();
  std::jthread first([&] { pair.ranks[1].reset(); });
  std::this_thread::sleep_for(30ms);
  pair.ranks[0].reset();
  first.join();
  CHECK(pair.wire->too_late == 0);
  CHECK(std::chrono::steady_clock::now() - begin < 2s);
}

TEST_CASE("a rank that leaves does not wait for long for one that stays") {
  Pair pair;
  REQUIRE(pair.brings(1, 70'001));
  const auto begin = std::chrono::steady_clock::now();
  pair.ranks[1].reset();
  CHECK(std::chrono::steady_clock::now() - begin < 2s);
}

TEST_CASE("a rank that takes nothing for long has lost nothing") {
  const auto wire = std::make_shared<FabricWire>(WireTraits{});
  auto ranks = communicators_by(wire, 2, 600s);
  run_ranks(ranks, [&](Communicator& comm) {
    std::vector<float> values(70'001);
    if (comm.rank() == Rank{1}) std::this_thread::sleep_for(22s);
    comm.all_reduce(std::span(values), ReduceOp::sum);
  });
}

TEST_CASE("a rank that does not look for long gets no more completions than a queue can keep") {
  constexpr std::size_t kQueue = 8192;  // As the plugin opens it.
  constexpr std::size_t kMessages = 300;
  constexpr int kRanks = 4;
  for (const fabric::Put put : fabric::kPuts) {
    const auto wire = std::make_shared<FabricWire>(WireTraits{.put = put, .queue_length = kQueue});
    std::vector<std::unique_ptr<FabricTransport>> ranks;
    for (int r = 0; r < kRanks; ++r)
      ranks.push_back(std::make_unique<FabricTransport>(Rank{r}, kRanks, wire->endpoint()));
    connect(ranks);
    std::vector<Reports> reports(kRanks);
    for (std::size_t r = 0; r < kRanks; ++r)
      ranks[r]->open(reports[r]);
    // Every other rank sends messages of each length to rank 0, which awaits them all.
    const std::vector<std::byte> bytes(70'001, std::byte{3});
    std::vector<std::byte> into(bytes.size());
    std::deque<Outgoing> sent;
    std::deque<Incoming> wanted;
    for (int from = 1; from < kRanks; ++from)
      for (std::size_t i = 0; i < kMessages; ++i) {
        const std::size_t length = i % 3 == 0 ? bytes.size() : i % 4097;
        wanted.push_back(
            {.peer = {from}, .tag = {i}, .sink = {.memory = std::span(into).first(length)}});
        ranks[0]->receive(wanted.back());
        sent.push_back({.peer = {0}, .tag = {i}, .bytes = std::span(bytes).first(length)});
        ranks[static_cast<std::size_t>(from)]->send(sent.back());
      }
    constexpr int kTurns = 200;
    for (int turn = 0; turn < kTurns; ++turn)
      for (std::size_t r = 1; r < kRanks; ++r)
        ranks[r]->progress();
    CHECK(reports[0].received_messages < static_cast<int>(wanted.size()));
    for (int turn = 0;
         turn < 100 * kTurns && reports[0].received_messages < static_cast<int>(wanted.size());
         ++turn)
      for (const auto& rank : ranks)
        rank->progress();
    CHECK(reports[0].received_messages == static_cast<int>(wanted.size()));
    CHECK(reports[0].losses == 0);
    CHECK(wire->longest_queue > 10);
  }
}

TEST_CASE("an endpoint whose address is of another kind is not connected to") {
  const auto wire = std::make_shared<FabricWire>();
  FabricTransport own({0}, 2, wire->endpoint());
  FabricTransport other({1}, 2, wire->endpoint());
  fabric::Card card = other.card();
  CHECK(own.connect({1}, card));
  card.address.resize(card.address.size() + 12);
  FabricTransport third({0}, 2, wire->endpoint());
  CHECK_FALSE(third.connect({1}, card));
  CHECK_FALSE(third.reaches({1}));
}

TEST_CASE("a rank that sends far ahead waits, and its messages arrive once they are asked for") {
  constexpr std::size_t kMessages = 2000;
  Pair pair;
  const std::vector<std::byte> bytes(4096, std::byte{9});
  std::vector<Outgoing> sent(kMessages);
  for (std::size_t i = 0; i < kMessages; ++i) {
    sent[i] = {.peer = {1}, .tag = {i}, .bytes = bytes};
    pair.ranks[0]->send(sent[i]);
  }
  pair.progress(200);
  // Nothing is awaited, and so all that rank 1 keeps is bounded: not by this number, but by 256
  // MiB.
  std::vector<std::byte> into(bytes.size());
  std::vector<Incoming> wanted(kMessages);
  for (std::size_t i = 0; i < kMessages; ++i) {
    wanted[i] = {.peer = {0}, .tag = {i}, .sink = {.memory = into}};
    pair.ranks[1]->receive(wanted[i]);
    pair.progress(2);
  }
  CHECK(pair.reports[0].sent_messages == static_cast<int>(kMessages));
  CHECK(pair.reports[1].received_messages == static_cast<int>(kMessages));
  CHECK(into == bytes);
}

TEST_CASE("messages of a higher priority overtake those that wait") {
  Pair pair;
  pair.wire->is_full = true;
  const std::byte low{1};
  const std::byte high{2};
  Outgoing first{.peer = {1}, .tag = {1}, .bytes = {&low, 1}};
  Outgoing second{.peer = {1}, .tag = {2}, .bytes = {&high, 1}, .priority = 5};
  pair.ranks[0]->send(first);
  pair.ranks[0]->send(second);
  pair.wire->is_full = false;
  std::byte got{};
  Incoming wanted{.peer = {0}, .tag = {2}, .sink = {.memory = {&got, 1}}};
  pair.ranks[1]->receive(wanted);
  pair.ranks[0]->progress();
  pair.ranks[1]->progress();
  CHECK(got == high);
}

TEST_CASE("what comes from no rank of the job is ignored") {
  Victim victim;
  std::mt19937 random(7);
  for (int i = 0; i < 50; ++i) {
    std::vector<std::byte> noise(random() % 300);
    for (std::byte& byte : noise)
      byte = static_cast<std::byte>(random());
    victim.send(noise);
  }
  FabricFrame frame = victim.frame(FabricFrameKind::message);
  frame.token += 1;
  victim.send(frame);
  frame = victim.frame(FabricFrameKind::message);
  frame.rank = 7;
  victim.send(frame);
  victim.send(std::vector<std::byte>(kFabricFrameBytes + 1));
  CHECK(victim.transport.strangers() == 53);
  CHECK_FALSE(victim.reports.failure);
  victim.send(victim.frame(FabricFrameKind::message));
  std::byte nothing{};
  Incoming wanted{.peer = {0}, .sink = {.memory = std::span(&nothing, 0)}};
  victim.transport.receive(wanted);
  CHECK(victim.reports.received_messages == 1);
}

TEST_CASE("frames of a rank that make no sense end the connection with it") {
  std::mt19937 random(7);
  for (int i = 0; i < 50; ++i) {
    Victim victim;
    std::vector<std::byte> bytes(kFabricFrameBytes);
    FabricFrame frame = victim.frame(FabricFrameKind::credit);
    frame.credit = 1;  // Nothing was sent.
    bytes.resize(encode(frame, bytes));
    if (i > 0) bytes.resize(kFabricHead + random() % 60);
    if (i > 0) bytes[4] = static_cast<std::byte>(FabricFrameKind::grant);
    victim.send(bytes);
    CHECK(victim.failure().kind() == ErrorKind::remote);
    CHECK(victim.reports.losses == 1);
  }
}

TEST_CASE("pieces, grants and lengths that were not agreed are refused") {
  std::vector<std::byte> memory(100'000);
  const auto failure_by = [&](const auto& act, fabric::Put put = fabric::Put::with_data) {
    Victim victim(put);
    Incoming wanted{.peer = {0}, .tag = {5}, .sink = {.memory = memory}};
    victim.transport.receive(wanted);
    act(victim);
    REQUIRE(victim.reports.failure);
    CHECK(victim.reports.received_messages == 0);
    return std::string(victim.failure().what());
  };
  CHECK(failure_by([](Victim& victim) {
          FabricFrame frame = victim.frame(FabricFrameKind::message);
          frame.tag = {5};
          victim.send(frame);
        }) == "it sent 0 bytes where 100000 were expected");
  CHECK(failure_by([](Victim& victim) {
          FabricFrame frame = victim.frame(FabricFrameKind::done);
          frame.grant = {.length = 99, .number = 0};
          victim.send(frame);
        }) == "it sent a piece that was not asked for");
  const auto granting = [&](FabricGrant grant, int times) {
    return failure_by([&](Victim& victim) {
      Outgoing mine{.peer = {0}, .tag = {6}, .bytes = memory};
      victim.transport.send(mine);
      FabricFrame frame = victim.frame(FabricFrameKind::grant);
      frame.tag = {6};
      frame.grant = grant;
      for (int i = 0; i < times; ++i)
        victim.send(frame);
      victim.transport.abandon();
    });
  };
  CHECK(granting({.total = 99'999, .length = 10}, 1) ==
        "it expects 99999 bytes where 100000 are sent");
  CHECK(granting({.total = 100'000, .length = 10, .is_tagged = true}, 1) ==
        "it asked for bytes in a way that was not agreed");
  // The first fails in the fabric: no such key.
  CHECK(mentions(Error(ErrorKind::remote, granting({.total = 100'000, .length = 10}, 1)),
                 "the fabric (wire on test): error 5"));
  std::vector<std::byte> at(1);
  Victim victim;
  FabricFrame twice = victim.frame(FabricFrameKind::message);
  twice.tag = {9};
  victim.send(twice);
  victim.send(twice);
  CHECK(mentions(victim.failure(), "it sent two messages where there is one"));
}

TEST_CASE("bytes that are asked for twice are refused") {
  Victim victim;
  std::vector<std::byte> memory(100'000);
  Outgoing mine{.peer = {0}, .tag = {6}, .bytes = memory};
  victim.transport.send(mine);
  FabricFrame frame = victim.frame(FabricFrameKind::grant);
  frame.tag = {6};
  frame.grant = {.total = 100'000, .length = 60'000, .is_tagged = true};
  victim.send(frame);
  CHECK_FALSE(victim.reports.failure);
  victim.send(frame);
  CHECK(mentions(victim.failure(), "it asked for bytes twice"));
}

TEST_CASE("a number that no piece has is ignored, because its sender is unknown") {
  const auto wire = std::make_shared<FabricWire>(WireTraits{.put = fabric::Put::with_data});
  FabricTransport transport({1}, 2, wire->endpoint());
  Reports reports;
  transport.open(reports);
  const auto other = wire->endpoint();
  std::byte target{};
  const auto registration = other->register_memory({&target, 1});
  fabric::OperationSpace operation;
  std::byte source{};
  other->write(0, {{&source, 1}, nullptr}, registration->place, fabric::WriteKind::with_data, 42,
               operation);
  transport.progress();
  CHECK(transport.strangers() == 1);
  CHECK_FALSE(reports.failure);
}

TEST_CASE("memory of a message to a rank that is lost is given back, or the fabric is given up") {
  for (const fabric::Put put : {fabric::Put::none, fabric::Put::with_data}) {
    Pair pair({.put = put});
    std::vector<std::byte> bytes(100'000);
    std::vector<std::byte> into(100'000);
    Outgoing sent{.peer = {1}, .tag = {1}, .bytes = bytes};
    Incoming wanted{.peer = {0}, .tag = {1}, .sink = {.memory = into}};
    pair.wire->holds_puts = true;
    pair.ranks[1]->receive(wanted);
    pair.ranks[0]->send(sent);
    pair.progress();
    // The receive can be taken back; what has been sent cannot.
    pair.ranks[1]->forget({0});
    CHECK(pair.wire->stops == 0);
    pair.ranks[0]->forget({1});
    CHECK(pair.wire->stops == 1);
    CHECK(pair.reports[0].sent_messages == 0);
    CHECK(pair.reports[1].received_messages == 0);
  }
}

TEST_CASE("ranks that wait for each other by the fabric get an error that says so") {
  for (const fabric::Put put : fabric::kPuts) {
    auto ranks = communicators_by(std::make_shared<FabricWire>(WireTraits{.put = put}), 2, 600s);
    const auto begin = std::chrono::steady_clock::now();
    const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
      std::vector<float> values(70'001);
      comm.all_reduce(std::span(values), ReduceOp::sum);
      auto group = *comm.split(0, 0);
      if (comm.rank() == Rank{1})
        group.barrier();
      else
        comm.all_reduce(std::span(values), ReduceOp::sum);
    });
    CHECK(std::chrono::steady_clock::now() - begin < 100s);
    for (const auto& outcome : outcomes) {
      const Error failure = failure_in(outcome);
      INFO("failure: ", std::string(failure.what()));
      CHECK(mentions(failure, "none can go on"));
    }
  }
}

TEST_CASE("a rank that gives up tells why before its endpoint stops") {
  for (const fabric::Put put : fabric::kPuts) {
    const auto wire = std::make_shared<FabricWire>(WireTraits{.put = put});
    wire->pause_of_stop = 200ms;
    auto ranks = communicators_by(wire, 2);
    const auto outcomes = outcomes_of_ranks(ranks, [](Communicator& comm) {
      std::vector<float> values(70'001);
      comm.all_reduce(std::span(values), ReduceOp::sum);
      if (comm.rank() == Rank{0}) return comm.give_up(Error(ErrorKind::remote, "the disk is full"));
      for (const auto end = std::chrono::steady_clock::now() + 10s;
           std::chrono::steady_clock::now() < end;)
        comm.all_reduce(std::span(values), ReduceOp::sum);
    });
    const Error failure = failure_in(outcomes[1]);
    INFO("failure: ", std::string(failure.what()));
    CHECK(mentions(failure, "the disk is full"));
  }
}

TEST_CASE("what a rank has sent by the fabric may be asked for after it has gone") {
  test::check_message_outlives_sender(
      able_to_leave(communicators_by(std::make_shared<FabricWire>(), 2, 5s)));
}

TEST_CASE("a rank that goes while others wait for it by the fabric is named by them") {
  test::check_leaver_is_named(
      able_to_leave(communicators_by(std::make_shared<FabricWire>(), 3, 5s)));
}

TEST_SUITE_END();

}  // namespace
}  // namespace fastgpu::comm
