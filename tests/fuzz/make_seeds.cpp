// What to begin with: messages as ranks write them, in a folder for each fuzzer:
// make_fuzz_seeds FOLDER.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "comm/codecs/codec_table.hpp"
#include "comm/common/deadline.hpp"
#include "comm/common/wire.hpp"
#include "comm/fabric/card.hpp"
#include "comm/gossip/gossip_state.hpp"
#include "comm/gradients/codec_state.hpp"
#include "comm/gradients/negotiation.hpp"
#include "comm/gradients/saved_gradients.hpp"
#include "comm/multistep/saved_state.hpp"
#include "comm/rendezvous/connections.hpp"
#include "comm/rendezvous/handshake.hpp"
#include "comm/rendezvous/introduce.hpp"
#include "comm/rendezvous/invitation.hpp"
#include "comm/transports/fabric_frame.hpp"
#include "comm/transports/mailbox.hpp"
#include "comm/transports/mpi_envelope.hpp"
#include "comm/transports/tcp_frame.hpp"
#include "transfer/record.hpp"

namespace fastgpu::comm {
namespace {

namespace fs = std::filesystem;
using Seed = std::vector<std::byte>;

void append(Seed& seed, std::span<const std::byte> bytes) {
  seed.insert(seed.end(), bytes.begin(), bytes.end());
}

void write(const fs::path& folder, const std::vector<Seed>& seeds) {
  fs::create_directories(folder);
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    std::ofstream file(folder / ("seed-" + std::to_string(i)), std::ios::binary);
    for (const std::byte byte : seeds[i])
      file.put(std::to_integer<char>(byte));
  }
}

std::vector<Seed> tcp_frames() {
  std::vector<Seed> seeds;
  const auto add = [&seeds](const Frame& frame) {
    seeds.emplace_back();
    append(seeds.back(), encode(frame));
    seeds.back().resize(seeds.back().size() + frame.length);
  };
  add({.kind = TcpFrameKind::chunk, .tag = {1}, .length = 40, .total = 40});
  add({.kind = TcpFrameKind::chunk, .tag = {2}, .length = 400, .offset = 800, .total = 1200});
  add({.kind = TcpFrameKind::chunk, .tag = {3}, .length = 4000, .offset = 8000, .total = 120'000});
  add({.kind = TcpFrameKind::chunk, .tag = {0}});
  add({.kind = TcpFrameKind::note, .tag = {1}, .length = kNoteBytes});
  add({.kind = TcpFrameKind::wanted, .tag = {7}});
  for (const TcpFrameKind kind : {TcpFrameKind::bell, TcpFrameKind::question, TcpFrameKind::answer})
    add({.kind = kind});
  add({.kind = TcpFrameKind::abort, .length = 20});
  for (const TcpFrameKind kind : {TcpFrameKind::number, TcpFrameKind::taken, TcpFrameKind::retired})
    add({.kind = kind, .offset = 1, .total = 3});
  return seeds;
}

std::vector<Seed> descriptors() {
  std::vector<Seed> seeds;
  const auto add = [&seeds](Descriptor descriptor, const Descriptor::Terms& terms) {
    if (descriptor.kind != DescriptorKind::inlined) descriptor.set(terms);
    seeds.emplace_back();
    append(seeds.back(), std::as_bytes(std::span(&descriptor, 1)));
  };
  add({.kind = DescriptorKind::inlined, .note = NoteForm::whole, .length = 8, .tag = {1}}, {});
  add({.kind = DescriptorKind::eager, .tag = {1}}, {.bytes = 40});
  add({.kind = DescriptorKind::offer, .tag = {2}}, {.bytes = 12'000, .offset = 4, .generation = 1});
  add({.kind = DescriptorKind::staged, .tag = {2}}, {.bytes = 12'000, .offset = 16 << 10});
  add({.kind = DescriptorKind::announce, .tag = {3}}, {.bytes = 160'000, .request = 1});
  add({.kind = DescriptorKind::piece}, {.bytes = kCellBytes});
  add({.kind = DescriptorKind::wanted}, {.request = 1});
  add({.kind = DescriptorKind::ack}, {.request = 1});
  add({.kind = DescriptorKind::note, .note = NoteForm::whole}, {});
  Seed all;
  for (const Seed& seed : seeds)
    append(all, seed);
  seeds.push_back(all);
  return seeds;
}

std::vector<Seed> negotiation() {
  constexpr std::size_t kGradients = 9;
  GradientSet all(kGradients);
  for (std::size_t i = 0; i < kGradients; ++i)
    all.add({i});
  GradientTable table;
  table.add({.name = "conv.weight", .shape = {64, 3, 7, 7}});
  table.add({.name = "conv.bias", .type = ElementType::float64, .shape = {64}, .priority = 3});
  const RankState state{.rank = {1}, .step = 7, .plan = 5, .late_ms = 15, .ready = all};
  const std::vector<std::byte> summary = encode(Summary{.step = 7, .plan = 5});
  const Details details{all, all, NonFiniteReport{{1}, {2}, 3, {}}};
  Seed step = summary;
  append(step, summary);
  append(step, encode(details));
  append(step, encode(details));
  Seed order;
  for (std::uint64_t number = kGradients; number-- > 0;)
    append(order, std::as_bytes(std::span(&number, 1)));
  Seed late = encode(Summary{.step = 7, .is_late = true});
  append(late, encode(state));
  append(late, step);
  return {summary, encode(details), encode(state), encode(table), step, late, order};
}

/// A code of 300 numbers by each codec of the fuzzer, and a saved state.
std::vector<Seed> codes() {
  constexpr std::size_t kNumbers = 300;
  constexpr CodecChoice kChoices[] = {
      {CodecId::int8}, {CodecId::one_bit}, {CodecId::top_k, 0.01}, {CodecId::top_k, 0.5}};
  std::vector<float> numbers(kNumbers);
  for (std::size_t i = 0; i < kNumbers; ++i)
    numbers[i] = static_cast<float>(i * 7919 % 301) - 150;
  std::vector<Seed> seeds;
  for (std::size_t i = 0; i < std::size(kChoices); ++i) {
    const auto codec = make_codec(kChoices[i]);
    Seed code(codec->encoded_bytes(kNumbers));
    codec->encode(code, numbers, 1);
    seeds.push_back({static_cast<std::byte>(i), std::byte{0}, std::byte{kNumbers >> 8},
                     std::byte{kNumbers & 0xff}});
    append(seeds.back(), code);
  }
  GradientTable table;
  table.add({.name = "a", .shape = {9}});
  CodecState state;
  state.resize(1);
  state.replace({{0}, 0, 9, 0}, 2, std::span(numbers).first(4));
  state.keep_factor({0}, std::span(numbers).first(3));
  seeds.push_back(state.saved(table, {0}, 1));
  return seeds;
}

/// Files of graphs, and saved states of gossip, one with everything in it.
std::vector<Seed> gossip() {
  std::vector<Seed> seeds;
  for (const std::string_view text : {"0 - 1\n1 - 2\n", "# one way\n0 -> 1\n1->0\nstep\n0 - 2\n"}) {
    const auto bytes = std::as_bytes(std::span(text));
    seeds.emplace_back(bytes.begin(), bytes.end());
  }
  SavedGossip saved{.rank = 1, .ranks = 3, .step = 9, .numbers = {1, 2, 3}, .weights = {1.5}};
  seeds.push_back(encode(saved));
  saved.sums.emplace();
  saved.noted.emplace();
  seeds.push_back(encode(saved));
  return seeds;
}

/// A mode of multistep training, a saved state of it, and one of a set of gradients.
std::vector<Seed> comm_files() {
  const std::string mode = "diloco=100,warmup=3,rate=0.7,momentum=0.9";
  SavedMultistep state{.rank = {1}, .ranks = 2, .mode = mode};
  state.clock.weights = {2};
  state.unused = RoundVerdict{.round = 3, .has_results = true, .factor = 1};
  state.tensors.push_back({"weight", Seed(8), {}, Seed(8), Seed(8)});
  state.codecs.emplace_back(9);
  const auto text = std::as_bytes(std::span(mode));
  const std::vector<std::string> order{"b", "a"};
  return {{text.begin(), text.end()}, encode(state), encode(SavedGradients{.order = order})};
}

/// Returns what a rank says of itself to a peer that answers nothing.
Seed introduction() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    throw std::system_error(errno, std::generic_category(), "socketpair");
  const UniqueFd peer(ends[1]);
  Connections connections{.rank = {1}, .size = 2};
  connections.sockets.resize(2);
  connections.sockets[0].emplace_back(ends[0]);
  try {
    introduce(connections, {.shared_memory = SharedMemory::off, .flows = 4},
              Deadline(std::chrono::milliseconds(100)));
  } catch (const Error&) {
    // The peer has not answered in time.
  }
  Seed said(std::size_t{1} << 16);
  const ssize_t bytes = ::read(peer.get(), said.data(), said.size());
  said.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
  return said;
}

/// Which addresses are those of ranks that are there, then what both other ranks say.
std::vector<Seed> introductions() {
  constexpr std::array kAnswerAndLowest{std::byte{1}, std::byte{}, std::byte{}, std::byte{},
                                        std::byte{}};
  Seed said = introduction();
  append(said, kAnswerAndLowest);
  std::vector<Seed> seeds;
  for (const unsigned there : {0U, 1U, 3U}) {
    seeds.push_back({static_cast<std::byte>(there)});
    append(seeds.back(), said);
    append(seeds.back(), said);
  }
  return seeds;
}

std::vector<Seed> fabric_frames() {
  const std::vector<std::byte> inside(40);
  const std::vector<std::byte> address(16, std::byte{7});
  const FabricFrame frames[] = {
      {.kind = FabricFrameKind::message, .tag = {1}, .note = Note{}, .bytes = inside},
      {.kind = FabricFrameKind::note, .tag = {2}, .note = Note{}},
      {.kind = FabricFrameKind::offer, .tag = {2}, .grant = {.total = 90'000}},
      {.kind = FabricFrameKind::grant, .tag = {3}, .grant = {.total = 9000, .length = 5000}},
      {.kind = FabricFrameKind::done, .grant = {.length = 5000, .number = 8}},
      {.kind = FabricFrameKind::credit, .credit = 100, .items = 3},
      {.kind = FabricFrameKind::question},
      {.kind = FabricFrameKind::hello},
      {.kind = FabricFrameKind::farewell}};
  std::vector<Seed> seeds{fabric::encode(
      {.provider = "tcp;ofi_rxm", .put = fabric::Put::with_data, .address = address})};
  for (const FabricFrame& frame : frames) {
    Seed bytes(kFabricFrameBytes);
    bytes.resize(encode(frame, bytes));
    seeds.push_back(std::move(bytes));
  }
  return seeds;
}

std::vector<Seed> envelopes() {
  Seed all;
  const std::vector<std::byte> inside(40);
  const Envelope told[] = {{.tag = {0}},
                           {.tag = {1}, .bytes = 40, .note = Note{}, .inside = inside},
                           {.tag = {2}, .bytes = 12'000, .number = 1},
                           {.tag = {3}, .bytes = 160'000, .number = 2}};
  for (const Envelope& envelope : told) {
    Seed bytes(kEnvelopeBytes);
    bytes.resize(encode(envelope, bytes));
    all.push_back(static_cast<std::byte>(bytes.size() >> 4));
    all.push_back(static_cast<std::byte>(bytes.size() << 4 & 0xff));
    append(all, bytes);
  }
  return {all};
}

std::vector<Seed> visit() {
  const PeerIdentity host{.rank = {0}, .size = 4, .secret = Secret("the job's own")};
  ServerHandshake reception(host);
  Message<kHelloBytes> hello{};
  WireWriter(hello).put(std::uint32_t{0x46474352}).put(kLibraryVersion);
  Seed handshake;
  append(handshake, reception.challenge(hello).value());
  append(handshake, reception.verdict(Refusal::none, Session{}));
  const Endpoint point{.port = 29500};
  const auto endpoint = encode(point);
  const auto invitation = encode(Invitation{.key = {}, .points = {point, point}});
  const auto refusal = encode(Error(ErrorKind::usage, "no such interface"));
  return {handshake,
          {endpoint.begin(), endpoint.end()},
          {invitation.begin(), invitation.end()},
          {refusal.begin(), refusal.end()}};
}

}  // namespace
}  // namespace fastgpu::comm

namespace fastgpu::transfer {
namespace {

/// A small tree, packed and as it is, behind the byte that the fuzzer begins with.
std::vector<comm::Seed> copies() {
  std::string tree;
  encode(tree, DirectoryRecord{"d", 0755, 1});
  encode(tree, FileRecord{"d/f", 0644, 2});
  encode(tree, BlockRecord{std::string(2000, 'x')});
  encode(tree, SumRecord{});
  encode(tree, FileRecord{"d/g", 0644, 2});
  encode(tree, SameRecord{});
  encode(tree, SumRecord{});
  encode(tree, LinkRecord{"d/l", "f", 3});
  encode(tree, EndRecord{});
  encode(tree, GivenUpRecord{});
  encode(tree, AliveRecord{});
  Packer packer;
  std::vector<comm::Seed> seeds;
  for (const std::string& stream : {'\xfe' + tree, '\xfe' + pack_records(tree, packer)}) {
    const auto bytes = std::as_bytes(std::span(stream));
    seeds.emplace_back(bytes.begin(), bytes.end());
  }
  return seeds;
}

}  // namespace
}  // namespace fastgpu::transfer

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::string folder = arguments[1];
  namespace comm = fastgpu::comm;
  comm::write(folder + "/fuzz_tcp_frames.corpus", comm::tcp_frames());
  comm::write(folder + "/fuzz_codes.corpus", comm::codes());
  comm::write(folder + "/fuzz_gossip.corpus", comm::gossip());
  comm::write(folder + "/fuzz_comm_files.corpus", comm::comm_files());
  comm::write(folder + "/fuzz_letters.corpus", comm::descriptors());
  comm::write(folder + "/fuzz_negotiation.corpus", comm::negotiation());
  comm::write(folder + "/fuzz_introductions.corpus", comm::introductions());
  comm::write(folder + "/fuzz_visit.corpus", comm::visit());
  comm::write(folder + "/fuzz_fabric_frames.corpus", comm::fabric_frames());
  comm::write(folder + "/fuzz_envelopes.corpus", comm::envelopes());
  comm::write(folder + "/fuzz_copies.corpus", fastgpu::transfer::copies());
  return 0;
}
