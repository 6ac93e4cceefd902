#include "comm/gpu/staged_queue.hpp"

#include <utility>

#include "comm/common/start_thread.hpp"

namespace fastgpu::comm::gpu {
namespace {

/// The slots: one part on its way to the host, two between the ranks, one on its way back.
constexpr std::size_t kSlots = 4;
constexpr std::size_t kBetweenRanks = 2;

}  // namespace

// ---- the request ----

StagedRequest::StagedRequest(std::shared_ptr<Device> device, StreamHandle stream)
    : device_(std::move(device)),
      stream_(stream),
      given_(event_of(*device_)),
      back_(event_of(*device_)) {
  device_->record(given_.get(), stream_);
}

bool StagedRequest::test() {
  const std::lock_guard lock(mutex_);
  return is_done_;
}

void StagedRequest::finish() noexcept {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return is_done_; });
}

void StagedRequest::wait() {
  finish();
  if (failure_) throw Error(*failure_);
  device_->wait(stream_, back_.get());
}

void StagedRequest::wait_here() {
  finish();
  if (failure_) throw Error(*failure_);
  device_->synchronize(back_.get());
}

// ---- the queue ----

StagedQueue::StagedQueue(Communicator ranks, std::shared_ptr<Device> device)
    : ranks_(std::move(ranks)), device_(std::move(device)), stream_(stream_of(*device_)) {
  for (std::size_t i = 0; i < kSlots; ++i)
    slots_.push_back(std::make_unique<StagingSlot>(*device_, ranks_, stream_.get()));
  worker_ = start_thread([this](const std::stop_token& stop) { work(stop); });
}

StagedQueue::~StagedQueue() {
  worker_.request_stop();
  worker_.join();
  finish_quietly(*device_, stream_.get());
}

std::shared_ptr<StagedRequest> StagedQueue::add(std::vector<Part> parts, Start start,
                                                StreamHandle stream, std::optional<Rank> peer) {
  auto request = std::make_shared<StagedRequest>(device_, stream);
  const std::lock_guard lock(mutex_);
  queue_.push_back({std::move(parts), std::move(start), request, peer});
  queued_.notify_one();
  return request;
}

void StagedQueue::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (queued_.wait(lock, stop, [this] { return !queue_.empty(); })) {
    Task task = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    run(task);
    lock.lock();
  }
}

void StagedQueue::run(Task& task) {
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

void StagedQueue::move_parts(const Task& task) {
  const std::size_t parts = task.parts.size();
  std::size_t fetched = 0;
  std::size_t begun = 0;
  for (std::size_t ended = 0; ended < parts;) {
    for (; fetched < parts && fetched < ended + kSlots; ++fetched)
      slots_[fetched % kSlots]->fetch(task.parts[fetched].in, task.parts[fetched].out, task.peer);
    if (begun < fetched && begun < ended + kBetweenRanks) {
      StagingSlot& slot = *slots_[begun % kSlots];
      const auto [in, out] = slot.arrived();
      slot.begun(task.start(ranks_, in, out));
      ++begun;
      continue;
    }
    slots_[ended % kSlots]->put_back();
    ++ended;
  }
}

}  // namespace fastgpu::comm::gpu
