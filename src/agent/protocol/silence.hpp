// How long the parts of a job wait for a sign of life from each other. All of them notice a cut
// within kNoticed, and none of them minds one of kHarmlessCut.
#pragma once

#include <chrono>

namespace fastgpu::agent {

/// The probes of a silent connection: the first one after `after`, then one `every` until `count`
/// of them had no answer.
struct Probes {
  std::chrono::seconds after;
  std::chrono::seconds every;
  int count;

  /// Returns the longest time from a cut to its discovery.
  constexpr std::chrono::seconds longest() const noexcept { return after + every * count; }
  /// Returns the longest cut that surely remains unnoticed.
  constexpr std::chrono::seconds survived() const noexcept { return every * (count - 1); }
};

inline constexpr std::chrono::seconds kNoticed{15};
inline constexpr std::chrono::seconds kHarmlessCut{5};

/// The probes of the kernel between two nodes of a job: by the daemons of mpirun, and by ranks,
/// whose lease ends with their connection to the supervisor.
inline constexpr Probes kNodeProbes{
    .after = std::chrono::seconds(1), .every = std::chrono::seconds(2), .count = 4};
inline constexpr std::chrono::seconds kRankLease = kNodeProbes.longest();
/// The probes of ssh from the first node, which starts the ranks of the others.
inline constexpr Probes kSshProbes{
    .after = std::chrono::seconds(2), .every = std::chrono::seconds(2), .count = 4};
/// The time that ssh from there has to connect to a node.
inline constexpr std::chrono::seconds kSshConnect{10};
/// The lines by which ranks without MPI learn that the first node lives.
inline constexpr std::chrono::seconds kBetweenLines{1};
inline constexpr std::chrono::seconds kLineSilence{10};
/// The pulses of `job-follow` to the machine that follows a job, which then connects anew.
inline constexpr std::chrono::seconds kBetweenFollowPulses{1};
inline constexpr std::chrono::seconds kFollowSilence{6};
/// The beats of that machine where it reaches the node through another one: there the kernel of the
/// node does not notice that it has gone. Rarer than kFollowSilence, because a byte that is sent
/// counts as life of the connection.
inline constexpr std::chrono::seconds kBetweenClientBeats{7};
inline constexpr std::chrono::seconds kClientSilence{16};

/// The time that remains to end a job and to report why.
inline constexpr std::chrono::seconds kToReport{5};

static_assert(kNodeProbes.longest() + kToReport <= kNoticed);
static_assert(kSshProbes.longest() + kToReport <= kNoticed);
static_assert(kSshConnect + kToReport <= kNoticed);
static_assert(kLineSilence + kToReport <= kNoticed);
static_assert(kFollowSilence + kToReport <= kNoticed);
static_assert(kBetweenClientBeats > kFollowSilence && kClientSilence > 2 * kBetweenClientBeats);
static_assert(kNodeProbes.survived() > kHarmlessCut && kSshProbes.survived() > kHarmlessCut);
static_assert(kLineSilence - kBetweenLines > kHarmlessCut);

}  // namespace fastgpu::agent
