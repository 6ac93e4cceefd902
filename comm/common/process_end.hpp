// The last steps of this process for the other ranks, where its end may be held up.
#pragma once

namespace fastgpu::comm {

/// Calls `act` once the process is about to end. One for the whole process.
void before_process_ends(void (*act)()) noexcept;

/// Called where the process ends in a way that waits for other ranks, as MPI_Finalize does: they
/// would wait for this one until they lose patience.
void process_is_ending() noexcept;

/// Returns whether the process has begun to end so: what it finds of the others is its own doing.
bool is_process_ending() noexcept;

}  // namespace fastgpu::comm
