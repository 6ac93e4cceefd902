// Memory barriers that a rare caller makes for others, so that frequent ones need none. The thread
// sanitizer does not know them, and needs not: they order atomic flags alone, and whatever is
// behind a flag is passed on by release and acquire.
#pragma once

namespace fastgpu::comm {

/// The threads that a barrier is for: those of this process, or of all processes of this machine
/// that have registered.
enum class BarrierReach : bool { process, machine };

/// Registers this process for barriers of that reach. Returns false if the kernel has none: it is
/// older than Linux 4.16, or a sandbox forbids the call. Thread-safe.
bool register_for_barriers(BarrierReach reach) noexcept;

/// Makes each of those threads pass a memory barrier before this returns, in about a microsecond
/// (membarrier(2)). So a thread that stores and then loads needs no barrier in between, unless it
/// is one of the compiler's, against a thread that stores, calls this, and loads. Returns false,
/// with nothing done, without a registration.
bool make_barrier(BarrierReach reach) noexcept;

}  // namespace fastgpu::comm
