// A short measurement when ranks join: whether a fabric carries more alone, or together with TCP.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "comm/common/deadline.hpp"
#include "comm/common/rank.hpp"
#include "comm/rendezvous/connections.hpp"
#include "comm/schedule/topology.hpp"
#include "comm/transports/fabric_transport.hpp"

namespace fastgpu::comm {

/// A rate that was measured several times, in bytes a second.
struct ProbedRate {
  double median = 0;
  double noise = 0;  ///< Other measurements were as much higher or lower.

  double least() const noexcept { return median - noise; }
  double most() const noexcept { return median + noise; }
};

/// Returns the median of samples, and half their range; of five or more without the lowest and the
/// highest.
ProbedRate rate_of(std::vector<double> samples);

/// The rates between two ranks, each in both directions at once.
struct ProbedPair {
  Rank lower{};
  Rank higher{};
  ProbedRate fabric{};
  ProbedRate tcp{};
  ProbedRate both{};
};

/// Returns whether both networks together are better for a job: where the fabric is slowest they
/// carry at least a tenth more, and more than the noise; and nowhere less.
bool is_hybrid_better(std::span<const ProbedPair> pairs);

/// How a probe ended that has no result.
enum class ProbeFailure : std::uint8_t {
  took_too_long,
  other,  ///< A network failed, or could not be opened.
};

/// The results of the probes of a job.
struct ProbedJob {
  std::vector<ProbedPair> pairs{};
  /// The first rank whose probe failed; the pairs do not count then.
  std::optional<std::pair<Rank, ProbeFailure>> failed{};
};

/// Returns a sentence on the decision. `job` has a pair or a failure.
std::string report_of_probe(const ProbedJob& job, bool is_hybrid);

/// Returns the rank with which this one measures: nodes take part in twos, each by its first rank.
std::optional<Rank> probe_partner(const Topology& topology, Rank self);

/// The networks between two ranks that measure.
struct ProbedNetworks {
  std::unique_ptr<FabricTransport>
      fabric{};  ///< A fabric that has met the partner, and is used for nothing else.
  std::vector<UniqueFd> alone{};   ///< Connections that carry messages without it.
  std::vector<UniqueFd> beside{};  ///< Connections that carry messages together with it.
};

/// Measures together with `partner`, which does the same. The lower rank returns the rates. Throws
/// ErrorKind::timeout at the deadline, and as transports do.
ProbedPair measure_networks(Rank self, Rank partner, int size, ProbedNetworks networks,
                            Deadline deadline);

/// Opens the fabric of this rank once more, to measure it with `partner`, which does the same.
/// Throws ErrorKind::local if that is not possible.
std::unique_ptr<FabricTransport> open_probed_fabric(const Connections& connections,
                                                    const Wishes& wishes, Rank partner,
                                                    Deadline deadline);

/// The result of one rank.
struct ProbeResult {
  std::optional<ProbeFailure> failure{};
  std::optional<ProbedPair> pair{};  ///< Absent for ranks that measure nothing themselves.
};

/// Collects the results of all ranks, which call it at once.
ProbedJob exchange_results(const Connections& connections, const ProbeResult& mine,
                           Deadline deadline);

}  // namespace fastgpu::comm
