#include "comm/communicator.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/error.hpp"

namespace fastgpu::comm {
namespace {

constexpr std::size_t kMostPrograms = 256;
constexpr std::uint32_t kMostContexts = 4096;
constexpr std::uint64_t kSequences = std::uint64_t{1} << 24;

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
    : Communicator(nullptr, everybody(connections.size), 0) {
  self_ = connections.rank;
  world_ = std::make_shared<World>(std::move(connections));
  way_ = {.algorithm = world_->algorithm};
  topology_ = topology_of(*group_, world_->engine.topology());
  if (world_->collectives) mpi_group_ = world_->collectives->everybody();
}

Communicator::Communicator(std::shared_ptr<World> world, Group group, std::uint32_t context)
    : world_(std::move(world)),
      group_(std::move(group)),
      self_{},
      context_(context),
      sent_(group_->size()),
      received_(group_->size()) {
  if (!world_) return;
  const auto self = std::ranges::find(*group_, world_->engine.rank());
  self_ = {static_cast<int>(self - group_->begin())};
  way_ = {.algorithm = world_->algorithm};
  topology_ = topology_of(*group_, world_->engine.topology());
  if (world_->collectives) mpi_group_ = world_->collectives->group_of(*group_, context_);
}

void Communicator::use_way(AllReduceWay way) {
  if (world_->algorithm) way.algorithm = world_->algorithm;
  if (way == way_) return;
  way_ = way;
  programs_.clear();
}

// ---- the calls ----

Work Communicator::prepare_all_reduce(std::span<std::byte> data, Reduction reduction) {
  check_elements("all_reduce", data.size(), reduction);
  return work_of(
      {.kind = CallKind::all_reduce, .bytes = data.size(), .reduction = reduction, .way = way_},
      data, {});
}

Work Communicator::prepare_reduce_scatter(std::span<const std::byte> all, std::span<std::byte> mine,
                                          Reduction reduction) {
  check_elements("reduce_scatter", mine.size(), reduction);
  if (all.size() != mine.size() * group_->size())
    throw wrong_length("reduce_scatter", all.size(),
                       "are not " + std::to_string(mine.size()) + " for each of " +
                           std::to_string(size()) + " ranks");
  return work_of({.kind = CallKind::reduce_scatter, .bytes = all.size(), .reduction = reduction},
                 mine, all);
}

Work Communicator::prepare_broadcast(std::span<std::byte> data, Rank root) {
  check_rank("broadcast", root);
  return work_of({.kind = CallKind::broadcast,
                  .bytes = data.size(),
                  .reduction = {.type = ElementType::uint8},
                  .root = root},
                 data, {});
}

Work Communicator::prepare_all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  if (all.size() != mine.size() * group_->size())
    throw wrong_length("all_gather", all.size(),
                       "do not hold " + std::to_string(mine.size()) + " of each of " +
                           std::to_string(size()) + " ranks");
  return work_of({.kind = CallKind::all_gather,
                  .bytes = mine.size(),
                  .reduction = {.type = ElementType::uint8}},
                 all, mine);
}

Work Communicator::prepare_all_to_all(std::span<const std::byte> out, std::span<std::byte> in) {
  if (out.size() != in.size() || out.size() % group_->size() != 0)
    throw wrong_length("all_to_all", out.size(),
                       "out and " + std::to_string(in.size()) +
                           " in are not one block for each of " + std::to_string(size()) +
                           " ranks");
  return work_of({.kind = CallKind::all_to_all,
                  .bytes = out.size() / group_->size(),
                  .reduction = {.type = ElementType::uint8}},
                 in, out);
}

Work Communicator::prepare_message(Way way, std::span<const std::byte> out, std::span<std::byte> in,
                                   Rank peer) {
  check_rank(way == Way::out ? "send" : "receive", peer);
  if (peer == self_) throw Error(ErrorKind::usage, "a rank sends no messages to itself");
  const Call call{.kind = CallKind::message,
                  .bytes = way == Way::out ? out.size() : in.size(),
                  .reduction = {.type = ElementType::uint8},
                  .root = peer};
  return work_of(call, in, out, way);
}

Work Communicator::prepare_send(std::span<const std::byte> data, Rank to, IfGone if_gone) {
  Work work = prepare_message(Way::out, data, {}, to);
  work.is_courtesy = if_gone == IfGone::is_ignored;
  return work;
}

Work Communicator::prepare_barrier() {
  return work_of({.kind = CallKind::barrier, .reduction = {.type = ElementType::uint8}},
                 {&world_->nothing, 1}, {});
}

Handle Communicator::start_all_reduce(std::span<std::byte> data, Reduction reduction,
                                      std::int32_t priority) {
  Work work = prepare_all_reduce(data, reduction);
  work.priority = priority;
  return start(std::move(work));
}

Handle Communicator::start_reduce_scatter(std::span<const std::byte> all, std::span<std::byte> mine,
                                          Reduction reduction) {
  return start(prepare_reduce_scatter(all, mine, reduction));
}

Handle Communicator::start_broadcast(std::span<std::byte> data, Rank root) {
  return start(prepare_broadcast(data, root));
}

Handle Communicator::start_all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  return start(prepare_all_gather(mine, all));
}

Handle Communicator::start_all_to_all(std::span<const std::byte> out, std::span<std::byte> in) {
  return start(prepare_all_to_all(out, in));
}

Handle Communicator::start_send(std::span<const std::byte> data, Rank to, IfGone if_gone) {
  return start(prepare_send(data, to, if_gone));
}

Handle Communicator::start_receive(std::span<std::byte> data, Rank from) {
  return start(prepare_message(Way::in, {}, data, from));
}

Handle Communicator::start_barrier() {
  return start(prepare_barrier());
}

std::optional<Communicator> Communicator::split(int color, int key) {
  struct Wish {
    int color;
    int key;
    std::uint32_t contexts;
  };
  const Wish mine{color, key, world_->contexts};
  std::vector<Wish> all(group_->size());
  all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  for (const Wish& wish : all)
    world_->contexts = std::max(world_->contexts, wish.contexts);
  const std::uint32_t context = world_->contexts++;
  if (context >= kMostContexts)
    throw Error(ErrorKind::usage, "split: there have been " + std::to_string(kMostContexts) +
                                      " communicators already");
  std::vector<std::size_t> members;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (color >= 0 && all[i].color == color) members.push_back(i);
  if (members.empty()) return std::nullopt;
  std::ranges::stable_sort(members, {}, [&](std::size_t i) { return all[i].key; });
  std::vector<Rank> group;
  for (const std::size_t member : members)
    group.push_back((*group_)[member]);
  return Communicator(world_, std::make_shared<const std::vector<Rank>>(std::move(group)), context);
}

// ---- what they have in common ----

void Communicator::check_rank(std::string_view call, Rank rank) const {
  if (rank.value < 0 || rank.value >= size())
    throw Error(ErrorKind::usage, std::string(call) + ": there is no rank " +
                                      std::to_string(rank.value) + " among " +
                                      std::to_string(size()));
}

Work Communicator::work_of(Call call, std::span<std::byte> data, std::span<const std::byte> input,
                           Way way) {
  const auto peer = static_cast<std::size_t>(call.root.value);
  std::uint64_t& sequence =
      way == Way::none ? sequence_ : (way == Way::out ? sent_ : received_)[peer];
  const bool is_by_mpi = is_whole(call);
  auto program = is_by_mpi ? world_->no_program : program_of(call, way);
  call.sequence = sequence++;
  auto whole =
      is_by_mpi ? world_->collectives->prepare(mpi_group_, self_, call, {data, input}) : nullptr;
  return {.program = std::move(program),
          .group = group_,
          .data = data,
          .input = input,
          .reduction = call.reduction,
          .tag_base = std::uint64_t{context_} << 52 | call.sequence % kSequences << 28,
          .call = call,
          .has_note = way == Way::none,
          .whole = std::move(whole)};
}

std::shared_ptr<const PreparedProgram> Communicator::program_of(const Call& call, Way way) {
  const bool is_average = call.reduction.op == ReduceOp::average;
  const ProgramKey key{call.kind,  call.bytes,      call.reduction.type,
                       is_average, call.root.value, way};
  const auto known = programs_.find(key);
  if (known != programs_.end()) return known->second;
  if (programs_.size() == kMostPrograms) programs_.clear();
  Planned planned = plan_for(call, self_, topology_, way);
  auto made =
      std::make_shared<const PreparedProgram>(std::move(planned.program), planned.averaging);
  programs_.emplace(key, made);
  return made;
}

void Communicator::run(Work work, Reminder* reminder) {
  const auto operation = world_->engine.start(std::move(work));
  world_->engine.wait(*operation, reminder);
}

Handle Communicator::start(Work work) {
  std::shared_ptr<Engine> engine(world_, &world_->engine);
  auto operation = engine->start(std::move(work));
  engine->drive_in_background();
  return {std::move(engine), std::move(operation)};
}

}  // namespace fastgpu::comm
