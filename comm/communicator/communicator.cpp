#include "comm/communicator/communicator.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kMostPrograms = 256;

Error wrong_length(const std::string& call, std::size_t bytes, const std::string& what) {
  return {ErrorKind::usage, call + ": " + std::to_string(bytes) + " bytes " + what};
}

void check_elements(const std::string& call, std::size_t bytes, Reduction reduction) {
  if (bytes % size_of(reduction.type) != 0)
    throw wrong_length(call, bytes,
                       "are no whole number of " + std::string(name_of(reduction.type)));
}

/// The first ranks 0 .. size - 1.
std::shared_ptr<const std::vector<Rank>> everybody(int size) {
  std::vector<Rank> group;
  for (int rank = 0; rank < size; ++rank)
    group.push_back({rank});
  return std::make_shared<const std::vector<Rank>>(std::move(group));
}

}  // namespace

Communicator::Communicator(Connections connections)
    : Communicator(nullptr, everybody(connections.size),
                   std::make_shared<CommunicatorNumber>(nullptr, 0, 0)) {
  self_ = connections.rank;
  // In a child made by fork nothing of it can be destroyed: its threads are not there.
  world_ = std::shared_ptr<CommunicatorState>(new CommunicatorState(std::move(connections)),
                                              [](CommunicatorState* world) {
                                                if (!world->engine.is_forked()) delete world;
                                              });
  plan_ = {.algorithm = world_->algorithm};
  topology_ = topology_of(*group_, world_->engine.topology());
  if (world_->collectives) mpi_group_ = world_->collectives->everybody();
}

Communicator::Communicator(std::shared_ptr<CommunicatorState> world, Group group,
                           std::shared_ptr<CommunicatorNumber> context)
    : world_(std::move(world)),
      group_(std::move(group)),
      self_{},
      context_(std::move(context)),
      no_program_(std::make_shared<const PreparedProgram>(Program{}, Averaging::none, group_)),
      sent_(group_->size()),
      received_(group_->size()) {
  if (!world_) return;
  const auto self = std::ranges::find(*group_, world_->engine.rank());
  self_ = {static_cast<int>(self - group_->begin())};
  plan_ = {.algorithm = world_->algorithm};
  topology_ = topology_of(*group_, world_->engine.topology());
  if (world_->collectives) mpi_group_ = world_->collectives->group_of(*group_, context_->number());
}

void Communicator::use_plan(AllReducePlan plan) {
  if (world_->algorithm) plan.algorithm = world_->algorithm;
  if (plan == plan_) return;
  plan_ = plan;
  programs_.clear();
  last_ = {};
}

void Communicator::blame(Rank culprit) {
  check_rank("blame", culprit);
  world_->engine.blame(world_rank(culprit));
}

CausedError Communicator::caused_by(Rank culprit, const Error& error) {
  blame(culprit);
  return {error, world_rank(culprit)};
}

// ---- the calls ----

Communicator::Arguments Communicator::prepare_all_reduce(std::span<std::byte> data,
                                                         Reduction reduction) {
  check_elements("all_reduce", data.size(), reduction);
  return {
      {.kind = CallKind::all_reduce, .bytes = data.size(), .reduction = reduction, .plan = plan_},
      data,
      {}};
}

std::vector<LinkCounters> Communicator::links() const {
  std::vector<LinkCounters> all;  // Networks that come later are last.
  if (world_->collectives) all.push_back(world_->collectives->link());
  std::ranges::move(world_->engine.links(), std::back_inserter(all));
  return all;
}

Communicator::Arguments Communicator::prepare_reduce_scatter(std::span<const std::byte> all,
                                                             std::span<std::byte> mine,
                                                             Reduction reduction) {
  check_elements("reduce_scatter", mine.size(), reduction);
  if (all.size() != mine.size() * group_->size())
    throw wrong_length("reduce_scatter", all.size(),
                       "are not " + std::to_string(mine.size()) + " for each of " +
                           std::to_string(size()) + " ranks");
  return {
      {.kind = CallKind::reduce_scatter, .bytes = all.size(), .reduction = reduction}, mine, all};
}

Communicator::Arguments Communicator::prepare_broadcast(std::span<std::byte> data, Rank root,
                                                        ElementType type) {
  check_rank("broadcast", root);
  return {{.kind = CallKind::broadcast,
           .moved = type,
           .bytes = data.size(),
           .reduction = {.type = ElementType::uint8},
           .root = root},
          data,
          {}};
}

Communicator::Arguments Communicator::prepare_all_gather(std::span<const std::byte> mine,
                                                         std::span<std::byte> all,
                                                         ElementType type) {
  if (all.size() != mine.size() * group_->size())
    throw wrong_length("all_gather", all.size(),
                       "do not hold " + std::to_string(mine.size()) + " of each of " +
                           std::to_string(size()) + " ranks");
  return {{.kind = CallKind::all_gather,
           .moved = type,
           .bytes = mine.size(),
           .reduction = {.type = ElementType::uint8}},
          all,
          mine};
}

Communicator::Arguments Communicator::prepare_all_to_all(std::span<const std::byte> out,
                                                         std::span<std::byte> in,
                                                         ElementType type) {
  if (out.size() != in.size() || out.size() % group_->size() != 0)
    throw wrong_length("all_to_all", out.size(),
                       "out and " + std::to_string(in.size()) +
                           " in are not one block for each of " + std::to_string(size()) +
                           " ranks");
  return {{.kind = CallKind::all_to_all,
           .moved = type,
           .bytes = out.size() / group_->size(),
           .reduction = {.type = ElementType::uint8}},
          in,
          out};
}

Work Communicator::prepare_message(Direction direction, std::span<const std::byte> out,
                                   std::span<std::byte> in, Rank peer, ElementType type) {
  check_rank(direction == Direction::out ? "send" : "receive", peer);
  if (peer == self_) throw Error(ErrorKind::usage, "a rank sends no messages to itself");
  const Call call{.kind = CallKind::message,
                  .moved = type,
                  .bytes = direction == Direction::out ? out.size() : in.size(),
                  .reduction = {.type = ElementType::uint8},
                  .root = peer};
  return work_of(call, in, out, direction);
}

Work Communicator::prepare_send(std::span<const std::byte> data, Rank to, ElementType type,
                                IfGone if_gone) {
  Work work = prepare_message(Direction::out, data, {}, to, type);
  work.is_courtesy = if_gone == IfGone::is_ignored;
  return work;
}

/// Returns whether messages go to the rank by a transport of ours. What is not so is left to the
/// long way, which reports it.
bool Communicator::may_move_now(Rank peer) const noexcept {
  return mpi_group_ == nullptr && peer != self_ && peer.value >= 0 && peer.value < size();
}

/// Sends a message if that is done at once; otherwise returns false, with nothing done.
bool Communicator::send_now(std::span<const std::byte> data, Rank to, ElementType type) {
  if (!may_move_now(to)) return false;
  const auto peer = static_cast<std::size_t>(to.value);
  const CommunicatorNumber::Start start(*context_, CallKind::message);
  Outgoing message{.peer = (*group_)[peer],
                   .tag = first_tag(context_->tag_of(sent_[peer]), message_lane(type)),
                   .bytes = data};
  if (!world_->engine.send_now(message)) return false;
  ++sent_[peer];
  return true;
}

/// Receives a message that has come already; otherwise returns false, with nothing done.
bool Communicator::receive_now(std::span<std::byte> data, Rank from, ElementType type) {
  if (!may_move_now(from)) return false;
  const auto peer = static_cast<std::size_t>(from.value);
  const CommunicatorNumber::Start start(*context_, CallKind::message);
  Incoming message{.peer = (*group_)[peer],
                   .tag = first_tag(context_->tag_of(received_[peer]), message_lane(type)),
                   .sink = {.memory = data}};
  if (!world_->engine.receive_now(message)) return false;
  ++received_[peer];
  return true;
}

Communicator::Arguments Communicator::prepare_barrier() {
  return {{.kind = CallKind::barrier, .reduction = {.type = ElementType::uint8}},
          {&world_->nothing, 1},
          {}};
}

Handle Communicator::start_all_reduce(std::span<std::byte> data, Reduction reduction,
                                      std::int32_t priority) {
  return start(prepare_all_reduce(data, reduction), priority);
}

Handle Communicator::start_reduce_scatter(std::span<const std::byte> all, std::span<std::byte> mine,
                                          Reduction reduction) {
  return start(prepare_reduce_scatter(all, mine, reduction));
}

Handle Communicator::start_broadcast(std::span<std::byte> data, Rank root, ElementType type) {
  return start(prepare_broadcast(data, root, type));
}

Handle Communicator::start_all_gather(std::span<const std::byte> mine, std::span<std::byte> all,
                                      ElementType type) {
  return start(prepare_all_gather(mine, all, type));
}

Handle Communicator::start_all_to_all(std::span<const std::byte> out, std::span<std::byte> in,
                                      ElementType type) {
  return start(prepare_all_to_all(out, in, type));
}

Handle Communicator::start_send(std::span<const std::byte> data, Rank to, ElementType type,
                                IfGone if_gone) {
  return start(prepare_send(data, to, type, if_gone));
}

Handle Communicator::start_receive(std::span<std::byte> data, Rank from, ElementType type) {
  return start(prepare_message(Direction::in, {}, data, from, type));
}

Handle Communicator::start_barrier() {
  return start(prepare_barrier());
}

/// The lowest number that is free on all ranks, each of which gives the lowest that it has free.
std::uint32_t Communicator::agree_on_context(std::uint32_t wanted) {
  std::vector<std::uint32_t> all(group_->size());
  for (;;) {
    all_gather(std::as_bytes(std::span(&wanted, 1)), std::as_writable_bytes(std::span(all)));
    const auto [least, most] = std::ranges::minmax(all);
    if (least == most) return most;
    wanted = world_->contexts.lowest_free(most);
  }
}

std::optional<Communicator> Communicator::split(int color, int key) {
  struct SplitRequest {
    int color;
    int key;
    std::uint64_t begin;  ///< The number of the new communicators' first call.
  };
  const SplitRequest mine{color, key, world_->contexts.end()};
  std::vector<SplitRequest> all(group_->size());
  run(Arguments{
      {.kind = CallKind::split, .bytes = sizeof(mine), .reduction = {.type = ElementType::uint8}},
      std::as_writable_bytes(std::span(all)),
      std::as_bytes(std::span(&mine, 1))});
  const std::uint64_t begin = std::ranges::max(all, {}, &SplitRequest::begin).begin;
  const std::uint32_t number = agree_on_context(world_->contexts.lowest_free(0));
  if (number >= kMostContexts)
    throw Error(ErrorKind::usage, "split: there are " + std::to_string(kMostContexts) +
                                      " communicators already: free those that are not needed");
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (color >= 0 && all[i].color == color) members.push_back(i);
  if (members.empty()) return std::nullopt;
  std::ranges::stable_sort(members, {}, [&](std::size_t i) { return all[i].key; });
  std::vector<Rank> group;
  for (const std::size_t member : members)
    group.push_back((*group_)[member]);
  auto context = std::make_shared<CommunicatorNumber>(&world_->contexts, number, begin);
  world_->engine.expect_calls(context->number(), begin);
  return Communicator(world_, std::make_shared<const std::vector<Rank>>(std::move(group)),
                      std::move(context));
}

// ---- what they have in common ----

void Communicator::refuse_rank(const char* call, Rank rank) const {
  throw Error(ErrorKind::usage, std::string(call) + ": there is no rank " +
                                    std::to_string(rank.value) + " among " +
                                    std::to_string(size()));
}

Work Communicator::work_of(Call call, std::span<std::byte> data, std::span<const std::byte> input,
                           std::optional<Direction> direction) {
  check_memory(call.kind, {.in = input, .out = data}, self_);
  const CommunicatorNumber::Start start(*context_, call.kind);
  const auto peer = static_cast<std::size_t>(call.root.value);
  std::uint64_t& sequence =
      direction ? (direction == Direction::out ? sent_ : received_)[peer] : sequence_;
  const bool is_by_mpi = is_offloaded(call);
  auto program = is_by_mpi ? no_program_ : program_of(call, direction);
  call.sequence = sequence++;
  auto offloaded =
      is_by_mpi ? world_->collectives->prepare(mpi_group_, self_, call, {data, input}) : nullptr;
  return {.program = std::move(program),
          .data = data,
          .input = input,
          .reduction = call.reduction,
          .tag_base = context_->tag_of(call.sequence),
          .call = call,
          .note = direction ? std::nullopt : std::optional(encode(call)),
          .part_of = part_of_,
          .offloaded = std::move(offloaded)};
}

Communicator::ProgramKey Communicator::key_of(const Call& call,
                                              std::optional<Direction> direction) noexcept {
  const auto type = static_cast<std::uint32_t>(direction ? call.moved : call.reduction.type);
  const bool is_average = call.reduction.op == ReduceOp::average;
  const std::uint32_t way = direction ? 1 + static_cast<std::uint32_t>(*direction) : 0;
  return {.bytes = call.bytes,
          .root = call.root,
          .what = static_cast<std::uint32_t>(call.kind) | type << 8 |
                  static_cast<std::uint32_t>(is_average) << 16 | way << 24};
}

Communicator::SharedProgram Communicator::program_of(const Call& call,
                                                     std::optional<Direction> direction) {
  const ProgramKey key = key_of(call, direction);
  last_ = {key, take_program(key, call, direction)};
  return last_.program;
}

/// Returns the program, and leaves none in `last_` if it was there. A copy would have to be given
/// up after the call, by an atomic operation, which waits until the message has left (BiasedMutex).
Communicator::SharedProgram Communicator::take_program(const ProgramKey& key, const Call& call,
                                                       std::optional<Direction> direction) {
  if (last_.program && last_.key == key) return std::exchange(last_.program, nullptr);
  const auto known = programs_.find(key);
  if (known != programs_.end()) return known->second;
  if (programs_.size() == kMostPrograms) programs_.clear();
  PlannedCall planned = plan_for(call, self_, topology_, direction);
  auto made = world_->engine.prepare({std::move(planned.program), planned.averaging, group_},
                                     call.reduction.type);
  programs_.emplace(key, made);
  return made;
}

void Communicator::run(Arguments&& arguments) {
  Call& call = arguments.call;
  // A copy of them would wait until what the caller has just written is in the cache.
  const std::span<std::byte>& data = arguments.data;
  const std::span<const std::byte>& input = arguments.input;
  if (is_offloaded(call)) return run(work_of(call, data, input));
  if (!input.empty()) check_memory(call.kind, {.in = input, .out = data}, self_);
  const ProgramKey key = key_of(call, {});
  SharedProgram program;
  std::uint64_t tag_base = 0;
  {
    const CommunicatorNumber::Start start(*context_, call.kind);
    program = take_program(key, call, {});
    call.sequence = sequence_++;
    tag_base = context_->tag_of(call.sequence);
  }
  const Note note = encode(call);
  const DirectCall direct{.program = *program,
                          .input = input,
                          .data = data,
                          .reduction = call.reduction,
                          .tag_base = tag_base,
                          .kind = call.kind,
                          .note = &note};
  world_->engine.run(direct, [&] {
    return Work{.program = std::move(program),
                .data = data,
                .input = input,
                .reduction = call.reduction,
                .tag_base = tag_base,
                .call = call,
                .note = note,
                .part_of = part_of_};
  });
  if (!program) return;  // An operation has it.
  const CommunicatorNumber::Start start(*context_, CallKind::message);
  if (last_.key != key) last_.key = key;  // A look takes less time than a copy.
  last_.program = std::move(program);
}

void Communicator::run(Work&& work, Reminder* reminder) {
  world_->engine.run(std::move(work), reminder);
}

Handle Communicator::start(const Arguments& arguments, std::int32_t priority) {
  Work work = work_of(arguments.call, arguments.data, arguments.input);
  work.priority = priority;
  return start(std::move(work));
}

Handle Communicator::start(Work work) {
  std::shared_ptr<Engine> engine(world_, &world_->engine);
  engine->start_driver();  // What has begun could not be taken back without it.
  auto operation = engine->start(std::move(work));
  engine->drive_in_background();
  return {std::move(engine), std::move(operation)};
}

}  // namespace fastgpu::comm
