#include "gpu/fake_nccl.hpp"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "comm/kernels/convert.hpp"
#include "gpu/fake_device.hpp"

namespace fastgpu::test {
namespace {

using namespace comm;
using gpu::NcclComm;
using gpu::NcclConfig;
using gpu::NcclUniqueId;
using gpu::StreamHandle;
using Bytes = std::vector<std::byte>;

constexpr int kCudaError = 1;
constexpr int kInvalidArgument = 4;
constexpr int kFirstMadeOp = 100;

/// A collective that is under way: what each rank has given.
struct Exchange {
  std::map<int, Bytes> given;
  int left = 0;
};

struct Job {
  std::mutex mutex;
  std::condition_variable changed;
  int size = 0;
  int joined = 0;
  std::map<std::uint64_t, Exchange> exchanges;
  std::map<std::tuple<int, int, std::uint64_t>, Bytes> mail;  ///< From, to, number.
};

/// A rank.
struct Member {
  std::shared_ptr<Job> job;  ///< Shared by its ranks and their kernels.
  int rank = 0;
  FakeDevice* device = nullptr;
  bool is_aborted = false;
  bool is_connected = false;
  int looks_left = 0;  ///< Until it is connected.
  std::uint64_t calls = 0;
  std::map<int, std::uint64_t> sent;
  std::map<int, std::uint64_t> received;
  std::vector<double> scales;  ///< Of the operations that were made.
};
using MemberHandle = std::shared_ptr<Member>;  ///< Shared with its kernels.

struct Message {
  bool is_sent = false;
  std::span<const std::byte> out{};
  std::span<std::byte> in{};
  int peer = 0;
  std::uint64_t number = 0;
};

/// What a thread has begun between group_start and group_end.
struct Group {
  int depth = 0;
  MemberHandle member;
  StreamHandle stream = nullptr;
  std::vector<Message> messages;
};
thread_local Group group;

/// NCCL too keeps what all of a process have in common.
struct Jobs {
  std::mutex mutex;
  std::vector<std::shared_ptr<Job>> all;
};
Jobs& jobs() {
  static Jobs jobs;
  return jobs;
}

MemberHandle& member_of(NcclComm* comm) {
  return *reinterpret_cast<MemberHandle*>(comm);
}

std::optional<ElementType> type_of(int type) {
  constexpr std::pair<int, ElementType> kTypes[] = {
      {gpu::nccl::kInt8, ElementType::int8},       {gpu::nccl::kUint8, ElementType::uint8},
      {gpu::nccl::kInt32, ElementType::int32},     {gpu::nccl::kInt64, ElementType::int64},
      {gpu::nccl::kFloat16, ElementType::float16}, {gpu::nccl::kFloat32, ElementType::float32},
      {gpu::nccl::kFloat64, ElementType::float64}, {gpu::nccl::kBfloat16, ElementType::bfloat16}};
  for (const auto& [number, known] : kTypes)
    if (number == type) return known;
  return std::nullopt;
}

std::size_t bytes_of(std::size_t count, int type) {
  return count * size_of(type_of(type).value_or(ElementType::uint8));
}

std::span<const std::byte> span_of(const void* data, std::size_t bytes) {
  return {static_cast<const std::byte*>(data), bytes};
}
std::span<std::byte> span_of(void* data, std::size_t bytes) {
  return {static_cast<std::byte*>(data), bytes};
}

// ---- joining and leaving ----

int get_version(int* version) {
  *version = kFakeNcclVersion;
  return gpu::nccl::kSuccess;
}

const char* get_error_string(int result) {
  constexpr const char* kWords[] = {"no error",
                                    "unhandled cuda error",
                                    "unhandled system error",
                                    "internal error",
                                    "invalid argument",
                                    "invalid usage",
                                    "remote process exited or there was a network error",
                                    "NCCL operation in progress"};
  return result >= 0 && result < 8 ? kWords[result] : "unknown result code";
}

int get_unique_id(NcclUniqueId* id) {
  Jobs& known = jobs();
  const std::lock_guard lock(known.mutex);
  const std::size_t number = known.all.size();
  known.all.push_back(std::make_shared<Job>());
  std::memcpy(id->internal, &number, sizeof(number));
  return gpu::nccl::kSuccess;
}

int comm_init_rank(NcclComm** comm, int ranks, NcclUniqueId id, int rank, NcclConfig* config) {
  if (FakeDevice::current() == nullptr) return kCudaError;
  if (config->magic != 0xcafebeef || config->is_blocking != 0) return kInvalidArgument;
  std::size_t number = 0;
  std::memcpy(&number, id.internal, sizeof(number));
  auto member = std::make_shared<Member>();
  {
    Jobs& known = jobs();
    const std::lock_guard lock(known.mutex);
    member->job = known.all.at(number);
  }
  member->rank = rank;
  member->device = FakeDevice::current();
  const std::lock_guard lock(member->job->mutex);
  member->job->size = ranks;
  ++member->job->joined;
  *comm = reinterpret_cast<NcclComm*>(new MemberHandle(member));
  return gpu::nccl::kInProgress;
}

int comm_abort(NcclComm* comm) {
  const std::unique_ptr<MemberHandle> handle(&member_of(comm));
  Member& member = **handle;
  const std::lock_guard lock(member.job->mutex);
  member.is_aborted = true;
  member.job->changed.notify_all();
  return gpu::nccl::kSuccess;
}

int comm_get_async_error(NcclComm* comm, int* result) {
  Member& member = *member_of(comm);
  const std::lock_guard lock(member.job->mutex);
  const bool is_busy =
      member.job->joined < member.job->size || (member.looks_left > 0 && --member.looks_left > 0);
  *result = is_busy ? gpu::nccl::kInProgress : gpu::nccl::kSuccess;
  return gpu::nccl::kSuccess;
}

int red_op_create_pre_mul_sum(int* op, void* scalar, int type, int, NcclComm* comm) {
  const auto from = type_of(type);
  double scale = 0;
  if (from == ElementType::float64) {
    std::memcpy(&scale, scalar, sizeof(scale));
  } else {
    float wide = 0;
    convert(std::as_writable_bytes(std::span(&wide, 1)), span_of(scalar, size_of(*from)),
            {*from, ElementType::float32});
    scale = wide;
  }
  Member& member = *member_of(comm);
  *op = kFirstMadeOp + static_cast<int>(member.scales.size());
  member.scales.push_back(scale);
  return gpu::nccl::kSuccess;
}

int red_op_destroy(int, NcclComm*) {
  return gpu::nccl::kSuccess;
}

// ---- collectives ----

/// The first call connects the ranks.
int accepted(Member& member) {
  const std::lock_guard lock(member.job->mutex);
  if (std::exchange(member.is_connected, true)) return gpu::nccl::kSuccess;
  member.looks_left = 3;
  return gpu::nccl::kInProgress;
}

bool is_mine(const Member& member, std::span<const std::byte> data) {
  try {
    if (!data.empty()) member.device->check_is_here(data.data());
    return FakeDevice::current() == member.device;
  } catch (const Error&) {
    return false;
  }
}

/// `combine` makes `out` of what all ranks have given.
int collective(NcclComm* comm, std::span<const std::byte> in, std::span<std::byte> out,
               StreamHandle stream,
               std::function<void(const Member&, const Exchange&, std::span<std::byte>)> combine) {
  const MemberHandle member = member_of(comm);
  if (!is_mine(*member, in) || !is_mine(*member, out)) return kInvalidArgument;
  const std::uint64_t call = member->calls++;
  member->device->run(stream, [=] {
    Job& job = *member->job;
    std::unique_lock lock(job.mutex);
    Exchange& exchange = job.exchanges[call];
    exchange.given[member->rank].assign(in.begin(), in.end());
    job.changed.notify_all();
    const auto ranks = static_cast<std::size_t>(job.size);
    job.changed.wait(lock, [&] { return member->is_aborted || exchange.given.size() == ranks; });
    if (member->is_aborted) {
      std::ranges::fill(out, std::byte{0xee});
      return;
    }
    combine(*member, exchange, out);
    if (++exchange.left == job.size) job.exchanges.erase(call);
  });
  return accepted(*member);
}

ReduceOp op_of(int op) {
  switch (op) {
    case gpu::nccl::kProduct:
      return ReduceOp::product;
    case gpu::nccl::kMax:
      return ReduceOp::max;
    case gpu::nccl::kMin:
      return ReduceOp::min;
    case gpu::nccl::kAverage:
      return ReduceOp::average;
    default:
      return ReduceOp::sum;
  }
}

/// Of the bytes that begin at `at`, as many as `out` has.
void reduce_part(const Member& member, const Exchange& exchange, std::span<std::byte> out,
                 std::size_t at, int type, int op) {
  const Reduction reduction{*type_of(type), op_of(op)};
  Bytes sum;
  for (const auto& [rank, all] : exchange.given) {
    Bytes part(all.begin() + static_cast<std::ptrdiff_t>(at),
               all.begin() + static_cast<std::ptrdiff_t>(at + out.size()));
    if (op >= kFirstMadeOp)
      convert(part, part,
              {reduction.type, reduction.type,
               member.scales.at(static_cast<std::size_t>(op - kFirstMadeOp))});
    if (sum.empty())
      sum = std::move(part);
    else
      reduce_into(sum, part, reduction);
  }
  finish(sum, reduction, static_cast<int>(exchange.given.size()));
  std::ranges::copy(sum, out.begin());
}

int all_reduce(const void* from, void* to, std::size_t count, int type, int op, NcclComm* comm,
               StreamHandle stream) {
  const std::size_t bytes = bytes_of(count, type);
  return collective(comm, span_of(from, bytes), span_of(to, bytes), stream,
                    [=](const Member& member, const Exchange& exchange, std::span<std::byte> out) {
                      reduce_part(member, exchange, out, 0, type, op);
                    });
}

int reduce_scatter(const void* all, void* mine, std::size_t count, int type, int op, NcclComm* comm,
                   StreamHandle stream) {
  const std::size_t bytes = bytes_of(count, type);
  const auto ranks = static_cast<std::size_t>(member_of(comm)->job->size);
  return collective(comm, span_of(all, ranks * bytes), span_of(mine, bytes), stream,
                    [=](const Member& member, const Exchange& exchange, std::span<std::byte> out) {
                      reduce_part(member, exchange, out,
                                  static_cast<std::size_t>(member.rank) * bytes, type, op);
                    });
}

int broadcast(const void* from, void* to, std::size_t count, int type, int root, NcclComm* comm,
              StreamHandle stream) {
  const std::size_t bytes = bytes_of(count, type);
  return collective(comm, span_of(from, bytes), span_of(to, bytes), stream,
                    [=](const Member&, const Exchange& exchange, std::span<std::byte> out) {
                      std::ranges::copy(exchange.given.at(root), out.begin());
                    });
}

int all_gather(const void* mine, void* all, std::size_t count, int type, NcclComm* comm,
               StreamHandle stream) {
  const std::size_t bytes = bytes_of(count, type);
  const auto ranks = static_cast<std::size_t>(member_of(comm)->job->size);
  return collective(comm, span_of(mine, bytes), span_of(all, ranks * bytes), stream,
                    [](const Member&, const Exchange& exchange, std::span<std::byte> out) {
                      auto place = out.begin();
                      for (const auto& [rank, part] : exchange.given)
                        place = std::ranges::copy(part, place).out;
                    });
}

// ---- messages ----

int group_start() {
  ++group.depth;
  return gpu::nccl::kSuccess;
}

/// Ends once all that was sent is taken, and all that was asked for has come.
void exchange_messages(Member& member, const std::vector<Message>& messages) {
  Job& job = *member.job;
  std::unique_lock lock(job.mutex);
  const auto place = [&](const Message& each) {
    return each.is_sent ? std::tuple(member.rank, each.peer, each.number)
                        : std::tuple(each.peer, member.rank, each.number);
  };
  for (const Message& each : messages)
    if (each.is_sent) job.mail[place(each)].assign(each.out.begin(), each.out.end());
  job.changed.notify_all();
  for (const Message& each : messages) {
    if (each.is_sent) continue;
    job.changed.wait(lock, [&] { return member.is_aborted || job.mail.contains(place(each)); });
    if (member.is_aborted) return;
    std::ranges::copy(job.mail[place(each)], each.in.begin());
    job.mail.erase(place(each));
    job.changed.notify_all();
  }
  for (const Message& each : messages)
    if (each.is_sent)
      job.changed.wait(lock, [&] { return member.is_aborted || !job.mail.contains(place(each)); });
}

int group_end() {
  if (--group.depth > 0 || group.messages.empty()) return gpu::nccl::kSuccess;
  const auto messages = std::exchange(group.messages, {});
  const MemberHandle member = std::exchange(group.member, nullptr);
  member->device->run(group.stream, [=] { exchange_messages(*member, messages); });
  return accepted(*member);
}

int add_message(NcclComm* comm, Message message, StreamHandle stream) {
  const MemberHandle member = member_of(comm);
  if (!is_mine(*member, message.out) || !is_mine(*member, message.in)) return kInvalidArgument;
  auto& numbers = message.is_sent ? member->sent : member->received;
  message.number = numbers[message.peer]++;
  group_start();
  group.member = member;
  group.stream = stream;
  group.messages.push_back(message);
  return group_end();
}

int send(const void* from, std::size_t count, int type, int peer, NcclComm* comm,
         StreamHandle stream) {
  return add_message(
      comm, {.is_sent = true, .out = span_of(from, bytes_of(count, type)), .peer = peer}, stream);
}

int receive(void* to, std::size_t count, int type, int peer, NcclComm* comm, StreamHandle stream) {
  return add_message(comm, {.in = span_of(to, bytes_of(count, type)), .peer = peer}, stream);
}

}  // namespace

comm::gpu::NcclFunctions fake_nccl() {
  return {.get_version = get_version,
          .get_error_string = get_error_string,
          .get_unique_id = get_unique_id,
          .comm_init_rank = comm_init_rank,
          .comm_destroy = comm_abort,
          .comm_abort = comm_abort,
          .comm_get_async_error = comm_get_async_error,
          .red_op_create_pre_mul_sum = red_op_create_pre_mul_sum,
          .red_op_destroy = red_op_destroy,
          .all_reduce = all_reduce,
          .broadcast = broadcast,
          .all_gather = all_gather,
          .reduce_scatter = reduce_scatter,
          .send = send,
          .receive = receive,
          .group_start = group_start,
          .group_end = group_end};
}

}  // namespace fastgpu::test
