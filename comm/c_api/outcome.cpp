#include "comm/c_api/outcome.hpp"

#include <cstring>
#include <string>

#include "base/error.hpp"

namespace fastgpu::comm::c_api {
namespace {

fgc_non_finite kind_of(NonFiniteReport::Value value) noexcept {
  switch (value) {
    case NonFiniteReport::Value::nan:
      return FGC_NAN;
    case NonFiniteReport::Value::infinity:
      return FGC_INFINITY;
  }
  return FGC_NAN;
}

}  // namespace

fgc_outcome outcome_of(fgc_gradients& gradients, const StepOutcome& step) {
  gradients.skipped.clear();
  for (const GradientId id : step.skipped)
    gradients.skipped.push_back(id.value);
  fgc_outcome outcome{};
  outcome.step = step.step;
  outcome.skipped = gradients.skipped.data();
  outcome.skipped_count = gradients.skipped.size();
  outcome.is_applied = step.is_applied ? 1 : 0;
  outcome.is_somebody_leaving = step.is_somebody_leaving ? 1 : 0;
  outcome.have_views_moved = step.have_views_moved ? 1 : 0;
  if (step.non_finite) {
    outcome.non_finite = kind_of(step.non_finite->value);
    outcome.non_finite_rank = step.non_finite->rank.value;
    outcome.non_finite_gradient = step.non_finite->gradient.value;
    outcome.non_finite_index = step.non_finite->index;
  }
  return outcome;
}

void write_counters(const GradientCounters& known, fgc_counters* counters) {
  fgc_counters all{};
  all.steps = known.steps;
  all.steps_without_results = known.steps_without_results;
  all.buckets = known.buckets;
  all.bucket_bytes = known.bucket_bytes;
  all.negotiation_messages = known.negotiation_messages;
  all.negotiation_bytes = known.negotiation_bytes;
  all.late_ranks = known.late_ranks;
  all.ready_seconds = known.ready_seconds;
  all.unpack_seconds = known.unpack_seconds;
  all.wait_seconds = known.wait_seconds;
  write_struct(need(counters, "the place for the counters"), all);
}

void write_link(const LinkCounters& known, fgc_link& link) {
  fgc_link all{};
  known.name.copy(all.name, sizeof(all.name) - 1);
  all.frames_sent = known.frames_sent;
  all.frames_received = known.frames_received;
  all.bytes_sent = known.bytes_sent;
  all.bytes_received = known.bytes_received;
  all.failures = known.failures;
  all.reconnects = known.reconnects;
  all.connections = known.connections;
  write_struct(link, all);
}

void check_room(std::size_t length, std::size_t room) {
  if (room < length)
    refuse("the state has " + std::to_string(length) + " bytes, and there is room for " +
           std::to_string(room));
}

void write_state(std::span<const std::byte> saved, std::size_t length, void* state) {
  if (saved.size() != length)
    throw Error(ErrorKind::internal, "a state of " + std::to_string(saved.size()) +
                                         " bytes was measured as " + std::to_string(length));
  if (!saved.empty()) std::memcpy(state, saved.data(), saved.size());
}

std::span<const std::byte> state_at(const void* state, std::size_t bytes) {
  const auto* const begin = static_cast<const std::byte*>(state);
  if (bytes > 0) need(begin, "the state");
  return {begin, bytes};
}

}  // namespace fastgpu::comm::c_api
