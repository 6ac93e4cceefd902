#include "comm/gpu/staged.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace fastgpu::comm::gpu {
namespace {

/// One part on its way here, two between the ranks, one on its way back.
constexpr std::size_t kSlots = 4;
constexpr std::size_t kBetweenRanks = 2;
constexpr std::size_t kPartBytes = std::size_t{4} << 20;  ///< A whole number of any element.

}  // namespace

// ---- the request ----

StagedRequest::StagedRequest(std::shared_ptr<Device> device, StreamHandle stream)
    : device_(std::move(device)),
      stream_(stream),
      given_(event_of(*device_)),
      back_(event_of(*device_)) {
  device_->record(given_.get(), stream_);
}

bool StagedRequest::test() const {
  const std::lock_guard lock(mutex_);
  return is_done_;
}

void StagedRequest::finish() const {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return is_done_; });
}

void StagedRequest::wait() {
  finish();
  if (failure_) throw Error(*failure_);
  device_->wait(stream_, back_.get());
}

// ---- the calls ----

StagedCollectives::StagedCollectives(Communicator& ranks, std::shared_ptr<Device> device)
    : device_(std::move(device)), ranks_(*ranks.split(0, 0)), stream_(stream_of(*device_)) {
  for (std::size_t i = 0; i < kSlots; ++i)
    slots_.push_back(std::make_unique<StagingSlot>(*device_, ranks_, stream_.get()));
  worker_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

StagedCollectives::~StagedCollectives() {
  worker_.request_stop();
  worker_.join();
  finish_quietly(*device_, stream_.get());
}

StagedCollectives::Request StagedCollectives::all_reduce(std::span<std::byte> data,
                                                         Reduction reduction, StreamHandle stream) {
  if (data.size() % size_of(reduction.type) != 0)
    throw Error(ErrorKind::usage, "all_reduce: " + std::to_string(data.size()) +
                                      " bytes are no whole number of " +
                                      std::string(name_of(reduction.type)));
  std::vector<Part> parts;
  for (std::size_t at = 0; at == 0 || at < data.size(); at += kPartBytes) {
    const auto part = data.subspan(at, std::min(kPartBytes, data.size() - at));
    parts.push_back({part, part});
  }
  return submit(
      std::move(parts),
      [this, reduction](auto, auto out) { return ranks_.start_all_reduce(out, reduction); },
      stream);
}

StagedCollectives::Request StagedCollectives::reduce_scatter(std::span<const std::byte> all,
                                                             std::span<std::byte> mine,
                                                             Reduction reduction,
                                                             StreamHandle stream) {
  return submit(
      {{all, mine}},
      [this, reduction](auto in, auto out) {
        return ranks_.start_reduce_scatter(in, out, reduction);
      },
      stream);
}

StagedCollectives::Request StagedCollectives::all_gather(std::span<const std::byte> mine,
                                                         std::span<std::byte> all,
                                                         StreamHandle stream) {
  return submit(
      {{mine, all}}, [this](auto in, auto out) { return ranks_.start_all_gather(in, out); },
      stream);
}

StagedCollectives::Request StagedCollectives::broadcast(std::span<std::byte> data, Rank root,
                                                        StreamHandle stream) {
  if (root.value < 0 || root.value >= ranks_.size())
    throw Error(ErrorKind::usage, "broadcast: there is no rank " + std::to_string(root.value) +
                                      " among " + std::to_string(ranks_.size()));
  return submit(
      {{data, data}}, [this, root](auto, auto out) { return ranks_.start_broadcast(out, root); },
      stream);
}

StagedCollectives::Request StagedCollectives::all_to_all(std::span<const std::byte> out,
                                                         std::span<std::byte> in,
                                                         StreamHandle stream) {
  return submit(
      {{out, in}}, [this](auto from, auto to) { return ranks_.start_all_to_all(from, to); },
      stream);
}

StagedCollectives::Request StagedCollectives::submit(std::vector<Part> parts, Start start,
                                                     StreamHandle stream) {
  for (const Part& part : parts) {
    if (!part.in.empty()) device_->check_is_here(part.in.data());
    if (!part.out.empty()) device_->check_is_here(part.out.data());
  }
  const Request request(new StagedRequest(device_, stream));
  const std::lock_guard lock(mutex_);
  queue_.push_back({std::move(parts), std::move(start), request});
  queued_.notify_one();
  return request;
}

// ---- the thread ----

void StagedCollectives::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (queued_.wait(lock, stop, [this] { return !queue_.empty(); })) {
    Task task = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    run(task);
    lock.lock();
  }
}

void StagedCollectives::run(Task& task) {
  StagedRequest& request = *task.request;
  std::optional<Error> failure;
  try {
    device_->wait(stream_.get(), request.given_.get());
    move_parts(task);
    device_->record(request.back_.get(), stream_.get());
  } catch (const Error& e) {
    failure = e;
    ranks_.give_up(e);
    for (const auto& slot : slots_)
      slot->give_up();
  }
  const std::lock_guard lock(request.mutex_);
  request.failure_ = std::move(failure);
  request.is_done_ = true;
  request.ended_.notify_all();
}

void StagedCollectives::move_parts(const Task& task) {
  const std::size_t parts = task.parts.size();
  std::size_t fetched = 0;
  std::size_t begun = 0;
  for (std::size_t ended = 0; ended < parts;) {
    for (; fetched < parts && fetched < ended + kSlots; ++fetched)
      slots_[fetched % kSlots]->fetch(task.parts[fetched].in, task.parts[fetched].out);
    if (begun < fetched && begun < ended + kBetweenRanks) {
      StagingSlot& slot = *slots_[begun % kSlots];
      const auto [in, out] = slot.arrived();
      slot.begun(task.start(in, out));
      ++begun;
      continue;
    }
    slots_[ended % kSlots]->put_back();
    ++ended;
  }
}

}  // namespace fastgpu::comm::gpu
