// The ranks of one job, or some of them, as one object: what a program calls to move numbers
// between them.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "comm/common/caused_error.hpp"
#include "comm/communicator/communicator_number.hpp"
#include "comm/communicator/handle.hpp"
#include "comm/communicator/mpi_collectives.hpp"
#include "comm/engine/call.hpp"
#include "comm/engine/planner.hpp"
#include "comm/kernels/reduce.hpp"
#include "comm/rendezvous/connections.hpp"

namespace fastgpu::comm {

/// Every rank makes the same collective calls in the same order; a call blocks until this rank's
/// part is done, and its `start_` twin returns a handle to wait for. Ranks that differ get
/// ErrorKind::usage naming another rank and both calls.
///
/// A call that throws after it has begun leaves the ranks at different places, so every later call
/// of this job throws too. One thread at a time makes collective calls, for all communicators of a
/// job together: a thread that begins one while another does gets ErrorKind::usage, and its call
/// has not begun. Messages may begin in several threads; those of one thread keep their order.
class Communicator {
 public:
  explicit Communicator(Connections connections);

  Rank rank() const noexcept { return self_; }
  int size() const noexcept { return static_cast<int>(group_->size()); }
  const Topology& topology() const noexcept { return topology_; }

  /// Reduces in place; the result is the same to the last bit on every rank. `data` is aligned for
  /// its elements. Throws ErrorKind::usage if the length is not a multiple of their size.
  /// Where connections are busy the messages of a higher `priority` overtake others.
  Handle start_all_reduce(std::span<std::byte> data, Reduction reduction,
                          std::int32_t priority = 0);
  void all_reduce(std::span<std::byte> data, Reduction reduction) {
    run(prepare_all_reduce(data, reduction));
  }
  template <class T>
  void all_reduce(std::span<T> values, ReduceOp op) {
    all_reduce(std::as_writable_bytes(values), {kElementType<T>, op});
  }

  /// Reduces block rank() of the `all` of every rank into `mine`. `all` has size() blocks as long
  /// as `mine`. Throws ErrorKind::usage where they overlap.
  Handle start_reduce_scatter(std::span<const std::byte> all, std::span<std::byte> mine,
                              Reduction reduction);
  void reduce_scatter(std::span<const std::byte> all, std::span<std::byte> mine,
                      Reduction reduction) {
    run(prepare_reduce_scatter(all, mine, reduction));
  }

  /// Copies `data` of `root` to every rank. Throws ErrorKind::usage for a root out of range. In
  /// this call and the next two, all ranks give the same type.
  Handle start_broadcast(std::span<std::byte> data, Rank root,
                         ElementType type = ElementType::uint8);
  void broadcast(std::span<std::byte> data, Rank root, ElementType type = ElementType::uint8) {
    run(prepare_broadcast(data, root, type));
  }

  /// `all` receives `mine` of every rank, ordered by rank. `mine` may lie at its place in `all`.
  /// Throws ErrorKind::usage where `all` is not size() times as long, and where they overlap
  /// otherwise.
  Handle start_all_gather(std::span<const std::byte> mine, std::span<std::byte> all,
                          ElementType type = ElementType::uint8);
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all,
                  ElementType type = ElementType::uint8) {
    run(prepare_all_gather(mine, all, type));
  }

  /// Block r of `out` goes to rank r; block r of `in` comes from there. Throws ErrorKind::usage
  /// where they are not equally long, no whole number of blocks, or overlap.
  Handle start_all_to_all(std::span<const std::byte> out, std::span<std::byte> in,
                          ElementType type = ElementType::uint8);
  void all_to_all(std::span<const std::byte> out, std::span<std::byte> in,
                  ElementType type = ElementType::uint8) {
    run(prepare_all_to_all(out, in, type));
  }

  /// Messages between two ranks keep their order, and have the same length and type on both sides.
  Handle start_send(std::span<const std::byte> data, Rank to, ElementType type = ElementType::uint8,
                    IfGone if_gone = IfGone::fails);
  Handle start_receive(std::span<std::byte> data, Rank from, ElementType type = ElementType::uint8);
  void send(std::span<const std::byte> data, Rank to, ElementType type = ElementType::uint8,
            IfGone if_gone = IfGone::fails) {
    if (!send_now(data, to, type)) run(prepare_send(data, to, type, if_gone));
  }
  void receive(std::span<std::byte> data, Rank from, ElementType type = ElementType::uint8) {
    if (!receive_now(data, from, type)) run(prepare_message(Direction::in, {}, data, from, type));
  }
  void receive(std::span<std::byte> data, Rank from, Reminder& reminder) {
    run(prepare_message(Direction::in, {}, data, from, ElementType::uint8), &reminder);
  }

  /// Whether that rank has gone, as far as can be seen now: nothing can be sent to it.
  bool has_lost(Rank rank) const { return world_->engine.has_lost(world_rank(rank)); }

  /// Returns what has ended the job, or the loss of one of these ranks, as far as it is known now.
  /// Any thread may call it.
  std::optional<Error> trouble() { return world_->engine.trouble_of(*group_); }
  std::chrono::milliseconds timeout() const noexcept { return world_->engine.timeout(); }

  /// Notes the rank without which a call of this one would not have failed, for the launcher of the
  /// job: if the program ends, that rank is named, whichever ends first. Throws ErrorKind::usage
  /// for a rank out of range.
  void blame(Rank culprit);

  /// Returns `error`, which is to be thrown, with the rank that has caused it, and does what
  /// `blame` does. Every error that ranks get together because of one of them is made so.
  CausedError caused_by(Rank culprit, const Error& error);

  /// Ends every call of this job, on all ranks, with what made this rank unable to go on.
  void give_up(const Error& error) { world_->engine.give_up(error); }

  /// Done once every rank has called it.
  Handle start_barrier();
  void barrier() { run(prepare_barrier()); }

  /// A collective: ranks that give the same `color` form a communicator, in the order of `key`, and
  /// of their ranks where keys are equal. Absent for a negative color.
  std::optional<Communicator> split(int color, int key);

  /// Allocates memory from which other ranks of this host read directly. Throws
  /// ErrorKind::capacity if it is used up: the program's own memory can be used instead.
  std::span<std::byte> allocate(std::size_t bytes) { return world_->engine.allocate(bytes); }
  void free(std::span<std::byte> memory) { world_->engine.free(memory.data()); }

  /// Connections that messages are spread over, to each rank on another host; as many as the job
  /// was begun with are the most, and the default.
  void use_flows(int flows) { world_->engine.use_flows(flows); }
  int most_flows() const noexcept { return world_->engine.most_flows(); }

  /// Prepares memory of a GPU for a message with a rank, until it is given back: the message may
  /// then have that memory in place of the host's. False if it must pass through the host.
  bool take_device_memory(Rank rank, std::span<std::byte> memory) {
    return world_->engine.take_device_memory(world_rank(rank), memory);
  }
  void give_back_device_memory(Rank rank, std::span<const std::byte> memory) {
    world_->engine.give_back_device_memory(world_rank(rank), memory);
  }
  /// Returns a sentence on the way of memory of GPUs between hosts; empty without a fabric.
  std::string report_of_device_memory() const { return world_->engine.report_of_device_memory(); }

  /// Returns the counts of each network that this rank uses, and of MPI where it runs collectives,
  /// for all of the job's communicators.
  std::vector<LinkCounters> links() const;

  /// Sets the name of its calls' owner in reports of waits; a literal. A named owner reports long
  /// waits itself.
  void name_calls(const char* part_of) noexcept { part_of_ = part_of; }

  /// Whether this process was forked from the rank, and may not use the communicator.
  bool is_forked() const noexcept { return world_->engine.is_forked(); }
  /// Throws ErrorKind::usage if so.
  void check_forked() const { world_->engine.check_forked(); }

  /// Sets the plan of the all-reduces to come: on all ranks alike, between calls. An algorithm that
  /// the user has named is not overruled.
  void use_plan(AllReducePlan plan);

 private:
  struct CommunicatorState {
    explicit CommunicatorState(Connections connections)
        : collectives(connections.collectives),
          algorithm(connections.algorithm),
          engine(std::move(connections)) {}

    std::shared_ptr<mpi::MpiCollectives> collectives;  ///< Null: none but ours.
    std::optional<Algorithm>
        algorithm;  ///< The algorithm of all-reduces, if the user has named one.
    Engine engine;
    Contexts contexts;
    std::byte nothing{};  ///< The content of a barrier's messages.
  };
  using Group = PreparedProgram::Group;  ///< Shared with work under way.
  using SharedProgram = std::shared_ptr<const PreparedProgram>;
  struct ProgramKey {
    std::uint64_t bytes = 0;
    Rank root{};
    /// A byte each for the kind, the type, whether it is an average, and the direction: each call
    /// compares them, with one look.
    std::uint32_t what = 0;

    friend auto operator<=>(const ProgramKey&, const ProgramKey&) = default;
  };
  /// The program of the latest call, which is mostly that of the next, too.
  struct LastProgram {
    ProgramKey key;
    SharedProgram program;
  };

  /// A collective call that is not numbered yet, and its memory.
  struct Arguments {
    Call call{};
    std::span<std::byte> data{};
    std::span<const std::byte> input{};
  };

  Communicator(std::shared_ptr<CommunicatorState> world, Group group,
               std::shared_ptr<CommunicatorNumber> context);

  Arguments prepare_all_reduce(std::span<std::byte> data, Reduction reduction);
  Arguments prepare_reduce_scatter(std::span<const std::byte> all, std::span<std::byte> mine,
                                   Reduction reduction);
  Arguments prepare_broadcast(std::span<std::byte> data, Rank root, ElementType type);
  Arguments prepare_all_gather(std::span<const std::byte> mine, std::span<std::byte> all,
                               ElementType type);
  Arguments prepare_all_to_all(std::span<const std::byte> out, std::span<std::byte> in,
                               ElementType type);
  Work prepare_send(std::span<const std::byte> data, Rank to, ElementType type, IfGone if_gone);
  Work prepare_message(Direction direction, std::span<const std::byte> out, std::span<std::byte> in,
                       Rank peer, ElementType type);
  Arguments prepare_barrier();

  bool may_move_now(Rank peer) const noexcept;
  bool send_now(std::span<const std::byte> data, Rank to, ElementType type);
  bool receive_now(std::span<std::byte> data, Rank from, ElementType type);

  Work work_of(Call call, std::span<std::byte> data, std::span<const std::byte> input,
               std::optional<Direction> direction = {});
  static ProgramKey key_of(const Call& call, std::optional<Direction> direction) noexcept;
  SharedProgram program_of(const Call& call, std::optional<Direction> direction);
  SharedProgram take_program(const ProgramKey& key, const Call& call,
                             std::optional<Direction> direction);
  bool is_offloaded(const Call& call) const {
    return mpi_group_ != nullptr && size() > 1 && mpi::has(call, size());
  }
  void check_rank(const char* call, Rank rank) const {
    if (rank.value < 0 || rank.value >= size()) refuse_rank(call, rank);
  }
  [[noreturn]] void refuse_rank(const char* call, Rank rank) const;
  Rank world_rank(Rank rank) const { return (*group_)[static_cast<std::size_t>(rank.value)]; }
  std::uint32_t agree_on_context(std::uint32_t wanted);
  void run(Arguments&& arguments);
  void run(Work&& work, Reminder* reminder = nullptr);
  Handle start(const Arguments& arguments, std::int32_t priority = 0);
  Handle start(Work work);

  std::shared_ptr<CommunicatorState> world_;  ///< Shared by all communicators of the job.
  Group group_;
  Rank self_;
  std::shared_ptr<CommunicatorNumber> context_;  ///< Shared by copies of this communicator.
  Topology topology_;
  AllReducePlan plan_{};
  const char* part_of_ = nullptr;
  mpi::Group* mpi_group_ = nullptr;  ///< MPI's communicator of the same ranks, where it is asked.
  SharedProgram no_program_;         ///< The program of what MPI runs.
  std::uint64_t sequence_ = 0;
  std::vector<std::uint64_t> sent_;               ///< Messages, by rank.
  std::vector<std::uint64_t> received_;           ///< Messages, by rank.
  std::map<ProgramKey, SharedProgram> programs_;  ///< Lately used.
  LastProgram last_;                              ///< One of them, or none while a call runs it.
};

}  // namespace fastgpu::comm
