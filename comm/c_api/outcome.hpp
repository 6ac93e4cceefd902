// The results of steps in the form that C reads.
#pragma once

#include <cstddef>
#include <span>

#include "comm/c_api/arguments.hpp"
#include "comm/c_api/exception_border.hpp"
#include "comm/c_api/handles.hpp"

namespace fastgpu::comm::c_api {

/// `gradients` keeps what the result points to.
fgc_outcome outcome_of(fgc_gradients& gradients, const StepOutcome& step);

void write_counters(const GradientCounters& known, fgc_counters* counters);

void write_link(const LinkCounters& known, fgc_link& link);

/// Throws ErrorKind::usage if there is not so much room for a state.
void check_room(std::size_t length, std::size_t room);

/// Writes a state, which has that length.
void write_state(std::span<const std::byte> saved, std::size_t length, void* state);

/// Writes the length of a state to `bytes`, and the state if there is a place for it. `exchange`
/// returns what has them; the state, which may be large, is made for that place alone.
template <class Exchange>
fgc_status saved(Exchange exchange, void* state, std::size_t room, std::size_t* bytes) {
  return guarded([&] {
    need(bytes, "the place for the length of the state") = 0;
    auto& saving = exchange();
    *bytes = saving.saved_bytes();
    if (state == nullptr || *bytes == 0) return;
    check_room(*bytes, room);
    write_state(saving.saved_state(), *bytes, state);
  });
}

/// Returns the bytes of a saved state. Throws ErrorKind::usage if there are some at NULL.
std::span<const std::byte> state_at(const void* state, std::size_t bytes);

/// `end` ends a step of the exchange that it is given.
template <class End>
fgc_status ended(fgc_gradients* gradients, fgc_outcome* outcome, End end) {
  return guarded([&] {
    GradientExchange& exchange = need(gradients, "the gradients' handle").exchange;
    gradients->communicator->check_forked();
    if (outcome != nullptr) write_struct(*outcome, fgc_outcome{});
    const fgc_outcome known = outcome_of(*gradients, end(exchange));
    if (outcome != nullptr) write_struct(*outcome, known);
  });
}

}  // namespace fastgpu::comm::c_api
