// The C ABI: gradients of one model.
#include <utility>

#include "comm/c_api/arguments.hpp"
#include "comm/c_api/guard.hpp"
#include "comm/c_api/handles.hpp"

namespace comm = fastgpu::comm;
using comm::c_api::guarded;
using comm::c_api::need;
using comm::c_api::refuse;

namespace {

constexpr std::size_t kMostDimensions = 255;

comm::GradientEntry& entry_of(fgc_gradients* gradients) {
  return need(gradients, "the gradients' handle").entry;
}

comm::GradientInfo info_of(const fgc_gradient& given) {
  if (given.dimensions > kMostDimensions)
    refuse("a gradient with " + std::to_string(given.dimensions) + " dimensions: 255 are the most");
  if (given.dimensions > 0) need(given.shape, "the gradient's shape");
  return {.name = &need(given.name, "the gradient's name"),
          .type = comm::c_api::type_of(given.type),
          .shape = {given.shape, given.shape + given.dimensions},
          .priority = given.priority};
}

fgc_non_finite kind_of(comm::NonFiniteReport::Value value) noexcept {
  switch (value) {
    case comm::NonFiniteReport::Value::nan:
      return FGC_NAN;
    case comm::NonFiniteReport::Value::infinity:
      return FGC_INFINITY;
  }
  return FGC_NAN;
}

/// `gradients` keeps what the result points to.
fgc_outcome outcome_of(fgc_gradients& gradients, const comm::StepOutcome& step) {
  gradients.skipped.clear();
  for (const comm::GradientId id : step.skipped)
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

template <class End>
fgc_status ended(fgc_gradients* gradients, fgc_outcome* outcome, End end) {
  return guarded([&] {
    comm::GradientEntry& entry = entry_of(gradients);
    if (outcome != nullptr) comm::c_api::write_struct(*outcome, fgc_outcome{});
    const fgc_outcome known = outcome_of(*gradients, end(entry));
    if (outcome != nullptr) comm::c_api::write_struct(*outcome, known);
  });
}

}  // namespace

fgc_status fgc_gradients_create(fgc_comm* comm, const char* const* settings,
                                fgc_gradients** gradients) {
  return guarded([&] {
    need(gradients, "the place for the gradients") = nullptr;
    const fgc_comm& ranks = need(comm, "the communicator");
    const auto environment = comm::c_api::environment_with(ranks.environment, settings);
    *gradients = new fgc_gradients(ranks.communicator, comm::entry_settings(environment));
  });
}

void fgc_gradients_free(fgc_gradients* gradients) {
  delete gradients;
}

fgc_status fgc_gradient_add(fgc_gradients* gradients, const fgc_gradient* gradient, size_t* id) {
  return guarded([&] {
    const fgc_gradient given = comm::c_api::read_struct(need(gradient, "the gradient"));
    comm::GradientInfo info = info_of(given);
    std::span<std::byte> values;
    if (given.data != nullptr)
      values = comm::c_api::elements_at(given.data, comm::elements_of(info), given.type);
    const comm::GradientId added = entry_of(gradients).add(std::move(info), values);
    if (id != nullptr) *id = added.value;
  });
}

fgc_status fgc_gradient_wire_type(fgc_gradients* gradients, size_t id, int* type) {
  return guarded([&] {
    need(type, "the place for the type") = 0;
    *type = static_cast<int>(entry_of(gradients).wire_type({id}));
  });
}

fgc_status fgc_gradients_use_op(fgc_gradients* gradients, int op) {
  return guarded([&] { entry_of(gradients).use_operation(comm::c_api::op_of(op)); });
}

fgc_status fgc_gradient_view(fgc_gradients* gradients, size_t id, void** view, int* type) {
  return guarded([&] {
    need(view, "the place for the view") = nullptr;
    need(type, "the place for the type") = 0;
    comm::GradientEntry& entry = entry_of(gradients);
    *view = entry.view({id}).data();
    *type = static_cast<int>(entry.wire_type({id}));
  });
}

fgc_status fgc_gradient_ready(fgc_gradients* gradients, size_t id) {
  return guarded([&] { entry_of(gradients).ready({id}); });
}

fgc_status fgc_gradients_wait(fgc_gradients* gradients, fgc_outcome* outcome) {
  return ended(gradients, outcome, [](comm::GradientEntry& entry) { return entry.wait_step(); });
}

fgc_status fgc_gradients_leave(fgc_gradients* gradients, fgc_outcome* outcome) {
  return ended(gradients, outcome, [](comm::GradientEntry& entry) { return entry.leave(); });
}

fgc_status fgc_gradients_counters(fgc_gradients* gradients, fgc_counters* counters) {
  return guarded([&] {
    const comm::EntryCounters known = entry_of(gradients).counters();
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
    comm::c_api::write_struct(need(counters, "the place for the counters"), all);
  });
}

fgc_status fgc_gradients_on_warning(fgc_gradients* gradients, fgc_warning_handler handler,
                                    void* user) {
  return guarded([&] {
    fgc_gradients& handle = need(gradients, "the gradients' handle");
    handle.handler = handler;
    handle.user = user;
  });
}
