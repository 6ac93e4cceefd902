#include "comm/gpu/nccl_collectives.hpp"

#include <utility>

#include "base/units.hpp"
#include "comm/common/start_thread.hpp"

namespace fastgpu::comm::gpu {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// The interval between two looks at the calls under way.
constexpr auto kLook = 20ms;

/// The grace for a rank that leaves once its own part is done, while this one's ends a little
/// later.
constexpr auto kGrace = 500ms;

}  // namespace

class NcclCollectives::NcclRequest final : public DeviceRequest {
 public:
  NcclRequest(NcclCollectives& owner, StreamHandle stream)
      : owner_(owner),
        stream_(stream),
        given_(event_of(*owner.device_)),
        back_(event_of(*owner.device_)) {
    owner_.device_->record(given_.get(), stream_);
  }

  EventHandle given() const noexcept { return given_.get(); }
  EventHandle back() const noexcept { return back_.get(); }

  bool test() override {
    const std::lock_guard lock(owner_.mutex_);
    owner_.launch_messages();
    return true;
  }

  void wait() override try {
    const std::lock_guard lock(owner_.mutex_);
    owner_.check();
    owner_.launch_messages();
    owner_.device_->wait(stream_, back_.get());
  } catch (const Error& e) {
    owner_.note(e);
    finish();  // The data belongs to the program again.
    throw;
  }

  void wait_here() override try {
    wait();
    owner_.device_->synchronize(back_.get());
    const std::lock_guard lock(owner_.mutex_);
    owner_.check();
  } catch (const Error& e) {
    owner_.note(e);
    throw;
  }

  void finish() noexcept override {
    try {
      if (!has_failed()) test();
      owner_.device_->synchronize(back_.get());
    } catch (const Error&) {
      return;  // No call is under way any more.
    }
  }

 private:
  bool has_failed() const {
    const std::lock_guard lock(owner_.mutex_);
    return owner_.failure_.has_value();
  }

  NcclCollectives& owner_;
  StreamHandle stream_;
  DeviceEvent given_;  ///< The content of the stream before the call.
  DeviceEvent back_;   ///< The result.
};

NcclCollectives::NcclCollectives(Communicator ranks, std::shared_ptr<Device> device,
                                 std::shared_ptr<const NcclLibrary> library)
    : DeviceCollectives(std::move(ranks), std::move(device)),
      library_(std::move(library)),
      stream_(stream_of(*device_)) {
  const auto broadcast = [this](std::span<std::byte> bytes) { ranks_.broadcast(bytes, {0}); };
  // Ranks that have been admitted, or refused, wait for this rank's result meanwhile.
  const NcclWait wait{ranks_.timeout() * 3 / 4, [this] { check_trouble(); }};
  device_->as_current([&] {
    nccl_ = std::make_unique<NcclCommunicator>(*library_, ranks_.rank(), ranks_.size(), broadcast,
                                               wait);
  });
  watch_ = start_thread([this](const std::stop_token& stop) { watch(stop); });
}

NcclCollectives::~NcclCollectives() {
  std::shared_ptr<NcclRequest> last;
  {
    const std::lock_guard lock(mutex_);
    if (!messages_.empty())
      last = messages_.back().request;
    else if (!under_way_.empty())
      last = under_way_.back();
  }
  if (last) last->finish();
}

// ---- the calls ----

DeviceCollectives::Request NcclCollectives::submit(const DeviceCall& call, StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  check();
  auto request = std::make_shared<NcclRequest>(*this, stream);
  if (call.kind == CallKind::message) {
    messages_.push_back({call, request});
    return request;
  }
  launch_messages();
  launch({request}, [&] { give_to_nccl(call); });
  return request;
}

void NcclCollectives::launch_messages() {
  if (messages_.empty()) return;
  const auto messages = std::exchange(messages_, {});
  Requests requests;
  for (const Message& message : messages)
    requests.push_back(message.request);
  launch(requests, [&] {
    nccl_->group([&] {
      for (const Message& message : messages)
        give_to_nccl(message.call);
    });
  });
}

/// Launches calls on NCCL's own stream, so that they overlap with the program's streams.
void NcclCollectives::launch(const Requests& requests, const std::function<void()>& give_to_nccl) {
  check();
  try {
    for (const auto& request : requests)
      device_->wait(stream_.get(), request->given());
    device_->as_current(give_to_nccl);
    for (const auto& request : requests)
      device_->record(request->back(), stream_.get());
  } catch (const Error& e) {
    give_up(e);
    finish_quietly(*device_, stream_.get());  // NCCL may have begun.
    throw;
  }
  under_way_.insert(under_way_.end(), requests.begin(), requests.end());
  launched_.notify_all();
}

void NcclCollectives::give_to_nccl(const DeviceCall& call) {
  const StreamHandle stream = stream_.get();
  switch (call.kind) {
    case CallKind::all_reduce:
      return nccl_->all_reduce(call.out, call.reduction, stream);
    case CallKind::reduce_scatter:
      return nccl_->reduce_scatter(call.in, call.out, call.reduction, stream);
    case CallKind::all_gather:
      return nccl_->all_gather(call.in, call.out, stream);
    case CallKind::broadcast:
      return nccl_->broadcast(call.out, call.peer, stream);
    case CallKind::all_to_all:
      return nccl_->all_to_all(call.in, call.out, stream);
    case CallKind::message:
      if (call.direction == Direction::out) return nccl_->send(call.in, call.peer, stream);
      return nccl_->receive(call.out, call.peer, stream);
    case CallKind::split:
    case CallKind::barrier:
      return;
  }
}

void NcclCollectives::check() const {
  if (failure_) throw Error(*failure_);
}

// ---- supervision ----

void NcclCollectives::give_up(const Error& error) {
  failure_ = error.during("NCCL");
  ranks_.give_up(*failure_);
  nccl_->abort();
}

void NcclCollectives::note(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (!failure_) give_up(error);
}

void NcclCollectives::watch(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (launched_.wait(lock, stop, [this] { return !under_way_.empty() && !failure_; })) {
    try {
      look();
    } catch (const Error& e) {
      give_up(e);
    }
    launched_.wait_for(lock, stop, kLook, [] { return false; });
    if (stop.stop_requested()) return;
  }
}

void NcclCollectives::look() {
  while (!under_way_.empty() && device_->has_passed(under_way_.front()->back())) {
    under_way_.pop_front();
    begun_at_.reset();
    suspected_at_.reset();
  }
  if (under_way_.empty()) return;
  nccl_->check_health();
  check_trouble();
  if (!device_->has_passed(under_way_.front()->given())) return;  // None of our calls is late.
  const auto now = Clock::now();
  if (!begun_at_) begun_at_ = now;
  if (now - *begun_at_ >= ranks_.timeout())
    throw Error(ErrorKind::transient, "a call has not ended within " + to_string(ranks_.timeout()) +
                                          ": a rank is late, stuck, or in another call");
}

void NcclCollectives::check_trouble() {
  const auto now = Clock::now();
  const auto trouble = ranks_.trouble();
  if (!trouble)
    suspected_at_.reset();
  else if (!suspected_at_)
    suspected_at_ = now;
  else if (now - *suspected_at_ >= kGrace)
    throw Error(*trouble);
}

}  // namespace fastgpu::comm::gpu
