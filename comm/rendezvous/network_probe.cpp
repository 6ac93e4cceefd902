#include "comm/rendezvous/network_probe.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <utility>

#include "base/units.hpp"
#include "comm/common/wire.hpp"
#include "comm/fabric/card.hpp"
#include "comm/fabric/fabric_endpoint.hpp"
#include "comm/rendezvous/introduce.hpp"
#include "comm/rendezvous/round.hpp"
#include "comm/rendezvous/stream.hpp"
#include "comm/transports/flow_carrier.hpp"
#include "comm/transports/tcp_transport.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;
using ProbeClock = std::chrono::steady_clock;

/// Messages are made longer until one takes this time, or is as long as this. Short ones would go
/// by one network alone.
constexpr auto kSampleTime = 40ms;
constexpr std::size_t kShortest = 256 << 10;
constexpr std::size_t kLongest = 32 << 20;

/// The most samples of one network, and the time after which kFewSamples are enough.
constexpr std::size_t kSamples = 7;
constexpr std::size_t kFewSamples = 3;
constexpr auto kTimeANetwork = 120ms;

/// The least number of samples of which the lowest and the highest do not count as noise.
constexpr std::size_t kManySamples = 5;

/// A smaller gain is not worth the copies that messages by both networks need. It may also come
/// from a limiter of one network, which lets a burst pass after each pause.
constexpr double kLeastGain = 1.1;

/// The time in which the endpoints of a probe must meet.
constexpr auto kProbeMeeting = 5s;

/// The listener to the transports of a probe.
class ProbeEvents final : public TransportEvents, public ControlEvents {
 public:
  void sent(Outgoing&) override { ++ended; }
  void received(Incoming&) override { ++ended; }
  void noted(Rank, MessageTag, const Note&) override {}
  void lost(Rank, const Error& error) override { failure = error; }
  void on_question(Rank, std::span<const std::byte>) override {}
  void on_answer(Rank, std::span<const std::byte>) override {}
  void on_abort(Rank, std::span<const std::byte>) override {}

  int ended = 0;  ///< Messages.
  std::optional<Error> failure{};
};

/// One rank's side of the measurement of one network.
class ProbedTransport {
 public:
  ProbedTransport(Transport& transport, ProbeEvents& events, Rank partner, Deadline deadline)
      : transport_(transport), events_(events), partner_(partner), deadline_(deadline) {}

  /// Decides what is sent, and returns the rates of all samples.
  std::vector<double> lead();
  /// Sends as much as the partner demands.
  void follow();

 private:
  using Demand = std::array<std::byte, sizeof(std::uint64_t)>;

  double rate_of_exchange(std::size_t length);
  void demand(std::size_t length);
  void exchange(std::size_t length);
  void carry(std::span<const std::byte> out, std::span<std::byte> in);

  Transport& transport_;
  ProbeEvents& events_;
  Rank partner_;
  Deadline deadline_;
  std::uint64_t tag_ = 0;
  std::vector<std::byte> out_;
  std::vector<std::byte> in_;
};

std::vector<double> ProbedTransport::lead() {
  std::size_t length = kShortest;
  const auto is_quick = [&] {
    const std::chrono::duration<double> took(static_cast<double>(length) /
                                             rate_of_exchange(length));
    return took < kSampleTime;
  };
  // A slow one may have waited for a processor: a second one decides.
  while (length < kLongest && (is_quick() || is_quick()))
    length *= 2;
  std::vector<double> rates;
  const Deadline enough(kTimeANetwork);
  while (rates.size() < kSamples && (rates.size() < kFewSamples || !enough.passed()))
    rates.push_back(rate_of_exchange(length));
  demand(0);
  return rates;
}

void ProbedTransport::follow() {
  for (;;) {
    Demand theirs{};
    carry({}, theirs);
    const auto length = WireReader(theirs).get<std::uint64_t>();
    if (length == 0) return;
    if (length > kLongest) throw Error(ErrorKind::remote, "it asked for too long a message");
    exchange(length);
  }
}

double ProbedTransport::rate_of_exchange(std::size_t length) {
  demand(length);
  const auto begin = ProbeClock::now();
  exchange(length);
  const std::chrono::duration<double> took = ProbeClock::now() - begin;
  return static_cast<double>(length) / took.count();
}

void ProbedTransport::demand(std::size_t length) {
  Demand mine{};
  WireWriter(mine).put(std::uint64_t{length});
  carry(mine, {});
}

void ProbedTransport::exchange(std::size_t length) {
  if (out_.size() < length) {
    out_.resize(length);
    in_.resize(length);
  }
  carry(std::span(out_).first(length), std::span(in_).first(length));
}

/// Sends and receives one message; those without bytes are left out.
void ProbedTransport::carry(std::span<const std::byte> out, std::span<std::byte> in) {
  Outgoing outgoing{.peer = partner_, .tag = {++tag_}, .bytes = out};
  Incoming incoming{.peer = partner_, .tag = {tag_}, .sink = {.memory = in}};
  const int awaited = events_.ended + (out.empty() ? 0 : 1) + (in.empty() ? 0 : 1);
  if (!in.empty()) transport_.receive(incoming);
  if (!out.empty()) transport_.send(outgoing);
  while (events_.ended < awaited && !events_.failure && !deadline_.passed())
    if (!transport_.progress()) ::sched_yield();
  if (events_.ended == awaited) return;
  transport_.abandon();  // The messages end here.
  if (events_.failure) throw Error(*events_.failure);
  throw Error(ErrorKind::timeout, "the probe of the networks took too long");
}

ProbedRate measured(Rank self, ProbedTransport probed, Rank partner) {
  if (self < partner) return rate_of(probed.lead());
  probed.follow();
  return {};
}

std::vector<std::vector<UniqueFd>> sockets_to(Rank partner, int size, std::vector<UniqueFd> flows) {
  std::vector<std::vector<UniqueFd>> sockets(static_cast<std::size_t>(size));
  sockets.at(static_cast<std::size_t>(partner.value)) = std::move(flows);
  return sockets;
}

std::string per_second(const ProbedRate& rate) {
  return to_string(Bytes{static_cast<std::uint64_t>(std::max(rate.median, 0.0))}) + "/s";
}

/// Returns the pair whose fabric is slowest: the others wait for it.
const ProbedPair& slowest_of(std::span<const ProbedPair> pairs) {
  return *std::ranges::min_element(pairs, {},
                                   [](const ProbedPair& pair) { return pair.fabric.median; });
}

constexpr std::size_t kRates = 6;
/// The kind of a result, a rank, and the numbers of a ProbedPair.
using EncodedResult =
    std::array<std::byte, 1 + sizeof(std::uint32_t) + kRates * sizeof(std::uint64_t)>;
enum class ResultKind : std::uint8_t { none, measured, took_too_long, failed };

ResultKind kind_of(const ProbeResult& result) {
  if (result.failure)
    return *result.failure == ProbeFailure::took_too_long ? ResultKind::took_too_long
                                                          : ResultKind::failed;
  return result.pair ? ResultKind::measured : ResultKind::none;
}

EncodedResult encode_result(const ProbeResult& result) {
  EncodedResult bytes{};
  WireWriter out(bytes);
  const ResultKind kind = kind_of(result);
  out.put(static_cast<std::uint8_t>(kind));
  if (kind != ResultKind::measured) return bytes;
  out.put(static_cast<std::uint32_t>(result.pair->higher.value));
  for (const ProbedRate& rate : {result.pair->fabric, result.pair->tcp, result.pair->both})
    for (const double number : {rate.median, rate.noise})
      out.put(static_cast<std::uint64_t>(number));
  return bytes;
}

ProbeResult decode_result(const EncodedResult& bytes, Rank from) {
  WireReader in(bytes);
  const auto kind = in.get<std::uint8_t>();
  if (kind > static_cast<std::uint8_t>(ResultKind::failed))
    throw Error(ErrorKind::remote, "it sent what no rank of this version sends");
  switch (static_cast<ResultKind>(kind)) {
    case ResultKind::none:
      return {};
    case ResultKind::took_too_long:
      return {.failure = ProbeFailure::took_too_long};
    case ResultKind::failed:
      return {.failure = ProbeFailure::other};
    case ResultKind::measured:
      break;
  }
  ProbedPair pair{.lower = from, .higher = {static_cast<int>(in.get<std::uint32_t>())}};
  for (ProbedRate* const rate : {&pair.fabric, &pair.tcp, &pair.both}) {
    rate->median = static_cast<double>(in.get<std::uint64_t>());
    rate->noise = static_cast<double>(in.get<std::uint64_t>());
  }
  return {.pair = pair};
}

}  // namespace

ProbedRate rate_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::ranges::sort(samples);
  const double median = samples[samples.size() / 2];
  if (samples.size() < kFewSamples) return {median, median};
  const std::size_t left_out = samples.size() < kManySamples ? 0 : 1;
  return {median, (samples[samples.size() - 1 - left_out] - samples[left_out]) / 2};
}

bool is_hybrid_better(std::span<const ProbedPair> pairs) {
  if (pairs.empty()) return false;
  const ProbedPair& slowest = slowest_of(pairs);
  const bool is_better = slowest.both.least() > kLeastGain * slowest.fabric.most();
  return is_better && std::ranges::none_of(pairs, [](const ProbedPair& pair) {
           return pair.both.most() < pair.fabric.least();
         });
}

std::string report_of_probe(const ProbedJob& job, bool is_hybrid) {
  const std::string chosen =
      "FASTGPU_COMM_TRANSPORT=auto takes " +
      std::string(is_hybrid ? "the fabric and TCP together" : "the fabric alone");
  if (job.failed) {
    const auto& [rank, failure] = *job.failed;
    return chosen + ", because its probe " +
           (failure == ProbeFailure::took_too_long ? "took too long" : "failed") + " on rank " +
           std::to_string(rank.value);
  }
  const ProbedPair& pair = slowest_of(job.pairs);
  return chosen + ": between ranks " + std::to_string(pair.lower.value) + " and " +
         std::to_string(pair.higher.value) + " the fabric carries " + per_second(pair.fabric) +
         ", TCP " + per_second(pair.tcp) + ", both " + per_second(pair.both);
}

std::optional<Rank> probe_partner(const Topology& topology, Rank self) {
  for (std::size_t node = 0; node < topology.nodes.size(); ++node) {
    if (topology.nodes[node].front() != self) continue;
    const std::size_t other = node ^ 1U;
    if (other < topology.nodes.size()) return topology.nodes[other].front();
  }
  return std::nullopt;
}

ProbedPair measure_networks(Rank self, Rank partner, int size, ProbedNetworks networks,
                            Deadline deadline) {
  // A partner that is done with one network closes it, which is no failure of the next.
  ProbeEvents of_fabric;
  ProbeEvents of_tcp;
  ProbeEvents of_both;
  ProbedPair pair{.lower = std::min(self, partner), .higher = std::max(self, partner)};
  networks.fabric->open(of_fabric);
  pair.fabric = measured(self, {*networks.fabric, of_fabric, partner, deadline}, partner);
  {
    TcpTransport tcp(sockets_to(partner, size, std::move(networks.alone)), of_tcp, of_tcp);
    pair.tcp = measured(self, {tcp, of_tcp, partner, deadline}, partner);
  }
  TcpTransport both(sockets_to(partner, size, std::move(networks.beside)), of_both, of_both,
                    Confirmation::of_frames);
  auto carrier = std::make_unique<FlowCarrier>(of_both);
  networks.fabric->open(*carrier);
  carrier->use(std::move(networks.fabric));
  both.carry_by(0, std::move(carrier));
  pair.both = measured(self, {both, of_both, partner, deadline}, partner);
  return pair;
}

std::unique_ptr<FabricTransport> open_probed_fabric(const Connections& connections,
                                                    const Wishes& wishes, Rank partner,
                                                    Deadline deadline) {
  using EncodedCard = std::array<std::byte, 1 + fabric::kMaxCard>;
  std::unique_ptr<FabricTransport> opened;
  std::optional<Error> failure;
  try {
    auto endpoint = fabric::open_endpoint(settings_of_fabric(*connections.fabric, wishes),
                                          {connections.size, wishes.near, connections.rank.value})
                        .endpoint;
    opened =
        std::make_unique<FabricTransport>(connections.rank, connections.size, std::move(endpoint));
  } catch (const Error& e) {
    failure = e;
  }
  EncodedCard mine{};
  if (opened) {
    const std::vector<std::byte> card = opened->own_card();
    mine[0] = static_cast<std::byte>(card.size());
    std::ranges::copy(card, mine.begin() + 1);
  }
  const int socket = connections.sockets[static_cast<std::size_t>(partner.value)].front().get();
  send_all(socket, mine, deadline);
  EncodedCard theirs{};
  receive_all(socket, theirs, deadline);
  if (failure) throw Error(*failure);
  const auto card = std::span(theirs).subspan(1, std::to_integer<std::size_t>(theirs[0]));
  if (card.empty() || !opened->connect(partner, fabric::decode_card(card)))
    throw Error(ErrorKind::local, "the other rank cannot open its fabric once more");
  const auto failures = opened->meet(within(deadline, kProbeMeeting));
  if (failures.contains(partner)) throw Error(ErrorKind::local, failures.at(partner));
  return opened;
}

ProbedJob exchange_results(const Connections& connections, const ProbeResult& mine,
                           Deadline deadline) {
  std::vector<ProbeResult> all(static_cast<std::size_t>(connections.size));
  all[static_cast<std::size_t>(connections.rank.value)] =
      decode_result(encode_result(mine), connections.rank);
  const std::vector<EncodedResult> out(all.size(), encode_result(mine));
  Round round(connections.rank, connections.sockets, deadline);
  round.exchange(out, [&](std::size_t r, const EncodedResult& theirs) {
    all[r] = decode_result(theirs, {static_cast<int>(r)});
  });
  ProbedJob job;
  for (int r = 0; r < connections.size; ++r) {
    const ProbeResult& result = all[static_cast<std::size_t>(r)];
    if (result.failure && !job.failed) job.failed.emplace(Rank{r}, *result.failure);
    if (result.pair) job.pairs.push_back(*result.pair);
  }
  return job;
}

}  // namespace fastgpu::comm
