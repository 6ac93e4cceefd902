// The interface of libfastgpu_comm_mpi.so: the small part of MPI that we use, behind pointers to
// functions. Neither our library nor its programs need MPI, and only the plugin is built for one
// MPI.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fastgpu::comm::mpi {

/// The interface's version, the same on both sides.
constexpr std::uint32_t kPluginVersion = 3;

/// The name of the plugin's one symbol, a function of type `MpiPluginEntry`.
constexpr const char* kPluginEntry = "fastgpu_comm_mpi_plugin";

// Defined by the plugin.
struct Group;    ///< Ranks with messages of their own; kept until the process ends.
struct Request;  ///< Something under way.

/// MPI's MPI_THREAD_SINGLE to MPI_THREAD_MULTIPLE.
enum class ThreadLevel : std::uint8_t { single, funneled, serialized, multiple };

struct Start {
  int rank = 0;
  int size = 0;
  ThreadLevel level = ThreadLevel::single;
  bool is_ours = false;         ///< The plugin has initialised MPI, and ends it with the process.
  bool is_main_thread = false;  ///< This thread is the one that initialised it.
  bool is_over = false;         ///< MPI has been finalised: nothing else here is known.
  /// Set by the caller: called before the plugin ends MPI, which waits for all ranks.
  void (*before_end)() noexcept = nullptr;
};

/// One collective; `input` is null if it is done in place. Types and operations are the numbers of
/// ElementType and ReduceOp, of which MPI lacks the 16-bit types; an average is a sum here.
struct PluginCollective {
  void* data = nullptr;
  const void* input = nullptr;
  int count = 0;  ///< Elements of a reduction's result, else bytes of a block.
  std::uint8_t type = 0;
  std::uint8_t op = 0;
  int root = 0;
};

/// A message that was not asked for.
struct Arrival {
  int from = 0;
  int bytes = 0;
  /// A request that is done once the bytes have arrived; null: no such message has come.
  Request* request = nullptr;
};

/// The plugin's functions. Each returns 0, or a number that `describe` knows. A function that
/// begins an operation gives a request, which `test` frees once it is done. One thread at a time.
struct MpiFunctions {
  std::uint32_t version = kPluginVersion;
  void (*describe)(int error, char* text, std::size_t room) = nullptr;
  /// Initialises MPI if it is not.
  int (*begin)(Start* start) = nullptr;
  int (*is_over)() = nullptr;
  /// Makes a group of all ranks of MPI's world, apart from the program's own messages. To be used
  /// once it is done.
  int (*duplicate_world)(Group** made, Request** request) = nullptr;
  /// Makes a group of some ranks, in that order, blocking; `tag` separates groups that are made at
  /// the same time.
  int (*make_group)(Group* of, const int* ranks, int count, int tag, Group** made) = nullptr;
  int (*test)(Request* request, int* is_done) = nullptr;
  /// Gives up an unfinished request; MPI may use its memory all the same.
  void (*forget)(Request* request) = nullptr;
  /// Sends bytes to one rank; done once it has begun to receive them.
  int (*send)(Group* group, const void* data, int bytes, int to, int tag,
              Request** request) = nullptr;
  int (*receive)(Group* group, void* data, int bytes, int from, int tag,
                 Request** request) = nullptr;
  /// Begins to receive the next message with this tag, from any rank, of at most `room` bytes.
  int (*find)(Group* group, void* data, int room, int tag, Arrival* arrival) = nullptr;
  int (*barrier)(Group* group, const PluginCollective* what, Request** request) = nullptr;
  int (*all_reduce)(Group* group, const PluginCollective* what, Request** request) = nullptr;
  int (*broadcast)(Group* group, const PluginCollective* what, Request** request) = nullptr;
  int (*all_gather)(Group* group, const PluginCollective* what, Request** request) = nullptr;
  int (*reduce_scatter)(Group* group, const PluginCollective* what, Request** request) = nullptr;
  int (*all_to_all)(Group* group, const PluginCollective* what, Request** request) = nullptr;
};

using MpiPluginEntry = const MpiFunctions* (*)();

}  // namespace fastgpu::comm::mpi
