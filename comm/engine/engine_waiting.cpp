// The half of the engine that waits.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "base/units.hpp"
#include "comm/common/interrupt.hpp"
#include "comm/engine/engine.hpp"

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

std::chrono::milliseconds until(std::chrono::steady_clock::time_point due) {
  return std::chrono::ceil<std::chrono::milliseconds>(due - std::chrono::steady_clock::now());
}

}  // namespace

Engine::Lock Engine::enter() const {
  check_forked();  // In a child the lock may be held by a thread that is not there.
  ++entering_;
  Lock lock(mutex_);
  --entering_;
  return lock;
}

bool Engine::test(Operation& operation) {
  const Lock lock = enter();
  if (!operation.is_done()) progress();
  keep_watch();
  return operation.is_done();
}

void Engine::wait(Operation& operation, Reminder* reminder) {
  Lock lock = enter();
  Patience patience(spin_habit_, kYieldsOfWaiter);
  WaitClock clock;
  ++waiters_;
  if (!operation.work().is_courtesy) waiting_threads_.insert(std::this_thread::get_id());
  while (!operation.is_done()) {
    if (clock.is_due()) ask_interpreter(lock);
    if (progress()) {
      patience.reset();
      continue;
    }
    if (operation.is_done()) break;
    if (!patience.pause()) continue;
    const auto longest = reminder != nullptr ? until(reminder->due) : kLongestSleep;
    sleep(lock, &operation, longest_sleep(longest));
    if (clock.is_due_now()) ask_interpreter(lock);
    if (!warnings_.empty()) give_warnings(lock);
    if (reminder == nullptr || until(reminder->due) > 0ms) continue;
    lock.unlock();
    reminder->remind();
    lock.lock();
  }
  if (--waiters_ == 0 && driver_ && (!active_.empty() || is_mpi_busy())) idle_.notify_all();
  keep_watch();
  if (operation.failure()) throw Error(*operation.failure());
}

/// Whether it has seen a signal, which ends the job: other ranks wait for what this one would do.
void Engine::ask_interpreter(Lock& lock) {
  lock.unlock();
  std::optional<Error> interruption;
  try {
    check_interrupt();
  } catch (const Error& e) {
    interruption = e;
  }
  lock.lock();
  if (interruption) fail(interruption->during("rank " + std::to_string(self_.value)));
}

void Engine::give_warnings(Lock& lock) {
  const std::vector<std::string> given = std::exchange(warnings_, {});
  if (!warn_) return;
  lock.unlock();
  for (const std::string& sentence : given)
    warn_(sentence);
  lock.lock();
}

/// Until something comes, or something is to be looked after. One thread sleeps for all who wait:
/// two would take each other's wake-ups.
void Engine::sleep(Lock& lock, const Operation* awaited, std::chrono::milliseconds longest) {
  if (is_watched_) {
    keep_watch();
    if (waiters_ == 1) kick();  // It is the background thread, which makes way.
    ++sleepers_;
    watch_ended_.wait_for(lock, longest);
    --sleepers_;
    return;
  }
  const bool may_sleep = (!shared_ || shared_->may_sleep()) && !is_mpi_busy();
  network_->progress();
  try {
    settle();
  } catch (const Error& e) {
    fail(e);
  }
  const bool has_moved = progress() || (awaited != nullptr && awaited->is_done());
  if (!has_moved) {
    const auto nap = std::min({longest, may_sleep ? kLongestSleep : kNap, timeout_ / 8});
    // What MPI runs, or carries, moves only while it is asked.
    const bool is_awake = wholes_ > 0 || (mpi_ && over_network_ > 0);
    pollfd ends[] = {{network_->descriptor(), POLLIN, 0}, {kick_.get(), POLLIN, 0}};
    const int waiter = awaited != nullptr ? 1 : 0;
    is_watched_ = true;
    sleepers_ += waiter;
    lock.unlock();
    if (is_awake) ::sched_yield();
    ::poll(ends, 2, is_awake ? 0 : static_cast<int>(std::max(nap, 1ms).count()));
    lock.lock();
    sleepers_ -= waiter;
    is_watched_ = false;
    watch_ended_.notify_all();
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
  keep_watch();
}

/// The thread that sleeps may know nothing of what has begun since, and somebody else may have read
/// what rang for it.
void Engine::keep_watch() {
  if (is_watched_ && (wholes_ > 0 || is_mpi_busy() || (shared_ && !shared_->may_sleep()))) kick();
}

bool Engine::progress_wholes() {
  const std::size_t before = wholes_;
  for (const auto& operation : active_) {
    const auto& whole = operation->work().whole;
    if (!whole || operation->is_done() || !whole->test()) continue;
    operation->finished_whole();
    --wholes_;
  }
  return wholes_ < before;
}

bool Engine::has_lost(Rank peer) {
  const Lock lock = enter();
  if (failure_) return true;
  network_->progress();
  return lost_[static_cast<std::size_t>(peer.value)].has_value();
}

std::optional<Error> Engine::trouble_of(std::span<const Rank> ranks) {
  const Lock lock = enter();
  try {
    if (!failure_) network_->progress();
    if (!failure_) settle();
  } catch (const Error& e) {
    fail(e);
  }
  remove_done();
  keep_watch();
  if (failure_) return failure_;
  for (const Rank rank : ranks)
    if (const auto& lost = lost_[static_cast<std::size_t>(rank.value)]) return lost;
  return std::nullopt;
}

void Engine::drive(const std::stop_token& stop) {
  Lock lock(mutex_);
  Patience patience(spin_habit_, kYieldsOfDriver);
  while (!stop.stop_requested()) {
    idle_.wait(lock, stop, [this] { return waiters_ == 0 && (!active_.empty() || is_mpi_busy()); });
    if (stop.stop_requested()) return;
    if (progress())
      patience.reset();
    else if (patience.pause())
      sleep(lock, nullptr, kLongestSleep);
    if (!warnings_.empty()) give_warnings(lock);
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
  try {
    auto memory = std::make_unique<std::byte[]>(bytes);
    const std::span<std::byte> result(memory.get(), bytes);
    private_memory_.emplace(memory.get(), std::move(memory));
    return result;
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::capacity, "no room for " + to_string(Bytes{bytes}) + " of memory");
  }
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
