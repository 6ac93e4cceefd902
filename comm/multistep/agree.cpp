#include "comm/multistep/agree.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "comm/communicator/broadcast_message.hpp"
#include "comm/fusion/fingerprint.hpp"
#include "comm/multistep/refusal.hpp"

namespace fastgpu::comm {
namespace {

/// Returns the first rank whose element, by rank, is not that of rank 0.
template <class T>
std::optional<Rank> first_odd(std::span<const T> all) {
  const auto odd = std::ranges::find_if(all, [&](const T& each) { return !(each == all[0]); });
  if (odd == all.end()) return std::nullopt;
  return Rank{static_cast<int>(odd - all.begin())};
}

template <class T>
std::vector<T> gathered(Communicator& communicator, const T& mine) {
  std::vector<T> all(static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(std::as_bytes(std::span(&mine, 1)),
                          std::as_writable_bytes(std::span(all)));
  return all;
}

}  // namespace

void check_same_mode(Communicator& communicator, const MultistepSettings& mode) {
  const std::string own = to_string(mode);
  const std::vector<std::uint64_t> all = gathered(communicator, Fingerprint().add(own).value());
  const std::optional<Rank> odd = first_odd(std::span(all));
  if (!odd) return;
  const std::string theirs = broadcast_message(communicator, *odd, own);
  const std::string reference = broadcast_message(communicator, {0}, own);
  throw communicator.caused_by(
      *odd, multistep_refusal("rank " + std::to_string(odd->value) + " has the mode " + theirs +
                              ", and rank 0 " + reference));
}

void check_same_place(Communicator& communicator, const TrainingPlace& mine) {
  const std::vector<TrainingPlace> all = gathered(communicator, mine);
  const std::optional<Rank> odd = first_elsewhere(all);
  if (!odd) return;
  throw communicator.caused_by(*odd, multistep_refusal(describe_difference(
                                         *odd, all[static_cast<std::size_t>(odd->value)], all[0])));
}

std::optional<Rank> first_elsewhere(std::span<const TrainingPlace> places) {
  return first_odd(places);
}

std::string describe_difference(Rank rank, const TrainingPlace& theirs,
                                const TrainingPlace& reference) {
  constexpr const char* kRemedy = ": load the states of one checkpoint on all ranks";
  const std::string name = "rank " + std::to_string(rank.value);
  if (theirs.round == reference.round)
    return name + " continues another training than rank 0" + kRemedy;
  return name + " continues in round " + std::to_string(theirs.round) + ", and rank 0 in round " +
         std::to_string(reference.round) + kRemedy;
}

}  // namespace fastgpu::comm
