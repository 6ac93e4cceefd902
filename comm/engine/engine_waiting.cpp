// The half of the engine that waits.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "base/error.hpp"
#include "comm/engine/engine.hpp"
#include "comm/engine/patience.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// Some hundred microseconds on a core that nobody else wants.
constexpr int kYieldsOfWaiter = 1000;
/// The background thread leaves the core to the program sooner.
constexpr int kYieldsOfDriver = 100;

/// Where a rail has something to do that nothing announces.
constexpr auto kNap = 1ms;
constexpr std::chrono::milliseconds kLongestSleep = 1000ms;

}  // namespace

Engine::Lock Engine::enter() const {
  ++entering_;
  Lock lock(mutex_);
  --entering_;
  return lock;
}

bool Engine::test(Operation& operation) {
  const Lock lock = enter();
  if (!operation.is_done()) progress();
  return operation.is_done();
}

void Engine::wait(Operation& operation) {
  Patience patience(kYieldsOfWaiter);
  Lock lock = enter();
  ++waiters_;
  while (!operation.is_done()) {
    if (progress()) {
      patience.reset();
      continue;
    }
    if (operation.is_done()) break;
    if (patience.pause()) sleep(lock, &operation);
  }
  if (--waiters_ == 0 && driver_ && !active_.empty()) {
    idle_.notify_all();
    kick();  // It may sleep in the belief that its sleep is known.
  }
  if (operation.failure()) throw Error(*operation.failure());
}

/// Until something comes, or something is to be looked after.
void Engine::sleep(Lock& lock, const Operation* awaited) {
  const bool may_sleep = !shared_ || shared_->may_sleep();
  network_->progress();
  try {
    settle();
  } catch (const Error& e) {
    fail(e);
  }
  const bool has_moved = progress() || (awaited != nullptr && awaited->is_done());
  if (!has_moved) {
    const auto longest = std::min(may_sleep ? kLongestSleep : kNap, std::max(timeout_ / 8, 1ms));
    pollfd ends[] = {{network_->descriptor(), POLLIN, 0}, {kick_.get(), POLLIN, 0}};
    lock.unlock();
    ::poll(ends, 2, static_cast<int>(longest.count()));
    lock.lock();
    std::uint64_t kicks = 0;
    if (ends[1].revents != 0) [[maybe_unused]]
      const auto read = ::read(kick_.get(), &kicks, 8);
  }
  if (shared_) shared_->woke();
  if (!has_moved && !failure_) {
    network_->progress();
    check_silence();
  }
}

void Engine::drive_in_background() {
  const Lock lock = enter();
  if (!driver_) driver_.emplace([this](const std::stop_token& stop) { drive(stop); });
  idle_.notify_all();
}

void Engine::drive(const std::stop_token& stop) {
  Patience patience(kYieldsOfDriver);
  Lock lock(mutex_);
  while (!stop.stop_requested()) {
    idle_.wait(lock, stop, [this] { return waiters_ == 0 && !active_.empty(); });
    if (stop.stop_requested()) return;
    if (progress())
      patience.reset();
    else if (patience.pause())
      sleep(lock, nullptr);
    if (entering_ == 0) continue;
    lock.unlock();
    while (entering_ > 0)
      ::sched_yield();
    lock.lock();
  }
}

void Engine::kick() const noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(kick_.get(), &one, sizeof(one));
}

std::span<std::byte> Engine::allocate(std::size_t bytes) {
  const Lock lock = enter();
  if (shared_) return shared_->heap().allocate(bytes);
  auto memory = std::make_unique<std::byte[]>(bytes);
  const std::span<std::byte> result(memory.get(), bytes);
  private_memory_.emplace(memory.get(), std::move(memory));
  return result;
}

void Engine::free(const std::byte* memory) {
  const Lock lock = enter();
  if (shared_)
    shared_->heap().free(memory);
  else if (private_memory_.erase(memory) == 0)
    throw Error(ErrorKind::usage, "this memory was not allocated by this communicator");
}

void Engine::use_flows(int flows) {
  const Lock lock = enter();
  network_->use_flows(flows);
}

}  // namespace fastgpu::comm
