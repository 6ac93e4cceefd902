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

/// Writes the length of a state to `bytes`, and the state if there is a place for it. Throws
/// ErrorKind::usage for too little room.
void write_state(std::span<const std::byte> saved, void* state, std::size_t room,
                 std::size_t* bytes);

/// Writes the state that `save` returns, which is called once there is a place for its length.
template <class Save>
fgc_status saved(Save save, void* state, std::size_t room, std::size_t* bytes) {
  return guarded([&] {
    need(bytes, "the place for the length of the state") = 0;
    write_state(save(), state, room, bytes);
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
