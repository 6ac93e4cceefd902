#include "comm/engine/engine.hpp"

#include <sched.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "comm/common/deadline.hpp"
#include "comm/common/interrupt.hpp"
#include "comm/common/start_thread.hpp"
#include "comm/rendezvous/connections.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// One to two milliseconds on a core that no other thread wants: a rank that sleeps needs 50 to 90
/// microseconds to wake, which then are a few percent of its wait.
constexpr int kYieldsOfWaiter = 5000;
/// The yields after which a call of few bytes becomes an operation, which others can drive.
constexpr int kYieldsOfDirectRun = 50;
/// The background thread leaves the core to the program sooner.
constexpr int kYieldsOfDriver = 100;

/// The longest sleep where a transport has something to do that nothing announces.
constexpr auto kNap = 1ms;
constexpr std::chrono::milliseconds kLongestSleep = 1000ms;

std::chrono::milliseconds until(std::chrono::steady_clock::time_point due) {
  return std::chrono::ceil<std::chrono::milliseconds>(due - std::chrono::steady_clock::now());
}

/// The wait of a call of few bytes. It ends where another thread wants the engine.
class ShortWait final : public DirectWait {
 public:
  ShortWait(SpinPolicy& policy, Gathering& gathering, const std::atomic<int>& entering)
      : policy_(policy), gathering_(gathering), entering_(entering) {}

  bool pause() override {
    if (!wait_) wait_.emplace(policy_, kYieldsOfDirectRun);
    if (entering_ != 0 || wait_->pause()) return false;
    if (gathering_.is_due()) policy_.rest(Gathering::kPause);
    return true;
  }
  /// Notes that what it has waited for has come.
  void end() noexcept {
    if (wait_) wait_->reset();
  }

 private:
  SpinPolicy& policy_;
  Gathering& gathering_;
  const std::atomic<int>& entering_;
  std::optional<AdaptiveWait> wait_;  ///< Most calls need none.
};

}  // namespace

Engine::Engine(Connections connections)
    : self_(connections.rank),
      timeout_(connections.timeout),
      warn_(std::move(connections.warn)),
      spin_policy_(have_a_core_each(ranks_of_machine(connections))),
      topology_(std::move(connections.topology)),
      runner_(connections, *this) {
  watch_.add(runner_.routes().poll_descriptors());
  std::vector<int> descriptors = runner_.routes().descriptors();
  descriptors.push_back(watch_.descriptor());
  fork_guard_.emplace(std::move(descriptors));
  // Whatever was sent moves only so.
  if (runner_.routes().move_only_when_called()) drive_in_background();
}

void Engine::refuse_forked() const {
  throw Error(ErrorKind::usage,
              "this process was forked from rank " + std::to_string(self_.value) +
                  ", and is no rank itself: only rank " + std::to_string(self_.value) +
                  " may use what it has joined. Start workers that need it anew, not by fork "
                  "(multiprocessing: \"spawn\")");
}

Engine::~Engine() {
  if (driver_) {
    driver_->request_stop();
    idle_.notify_all();
    watch_.kick();
  }
}

int Engine::most_flows() const noexcept {
  return runner_.routes().most_flows();
}

void Engine::operations_ended() noexcept {
  watch_.wake_waiters();
}

void Engine::descriptor_opened(int descriptor) {
  fork_guard_->add(descriptor);
}

void Engine::descriptor_closing(int descriptor) {
  fork_guard_->forget(descriptor);
}

bool Engine::do_all_threads_wait() const {
  return waiters_ > 0 && static_cast<std::size_t>(waiters_) == waiting_threads_.size();
}

void Engine::expect_calls(std::uint32_t communicator, std::uint64_t begin) {
  const Lock lock = enter();
  runner_.expect_calls(communicator, begin);
}

std::shared_ptr<const PreparedProgram> Engine::prepare(PreparedProgram program,
                                                       ElementType type) const {
  program.direct = direct_steps(program, size_of(type), runner_.routes());
  program.may_gather = may_gather(program, runner_.routes());
  return std::make_shared<const PreparedProgram>(std::move(program));
}

std::shared_ptr<Operation> Engine::start(Work work) {
  const Lock lock = enter();
  gathering_.begin(false);
  return runner_.start(std::move(work));
}

bool Engine::send_now(Outgoing& message) {
  const Lock lock = enter();
  count_waiting_thread();
  gathering_.begin(false);
  const bool is_sent = runner_.send_now(message);
  keep_watch();
  return is_sent;
}

bool Engine::receive_now(Incoming& message) {
  const Lock lock = enter();
  count_waiting_thread();
  const bool has_come = runner_.receive_now(message);
  keep_watch();
  return has_come;
}

void Engine::run(Work&& work, Reminder* reminder) {
  if (work.is_courtesy) {
    Lock lock = enter();
    const auto operation = runner_.start(std::move(work));
    return wait(lock, *operation, reminder);
  }
  const DirectCall call{.program = *work.program,
                        .input = work.input,
                        .data = work.data,
                        .reduction = work.reduction,
                        .tag_base = work.tag_base,
                        .kind = work.call.kind,
                        .note = work.note ? &*work.note : nullptr};
  run(
      call, [&] { return std::move(work); }, reminder);
}

/// Runs as much of a call as can be done at once, or in a short wait.
BegunCall Engine::run_now(const DirectCall& call) {
  gathering_.begin(call.program.may_gather);
  ShortWait looks(spin_policy_, gathering_, entering_);
  const BegunCall begun = runner_.run_now(call, looks);
  if (begun.is_done) looks.end();
  return begun;
}

/// A thread that has once waited may do what other ranks wait for.
void Engine::count_waiting_thread() {
  const void* const self = __builtin_thread_pointer();
  if (self == last_waiting_) return;
  waiting_threads_.insert(std::this_thread::get_id());
  last_waiting_ = self;
}

void Engine::give_up(const Error& error) {
  const Lock lock = enter();
  runner_.fail(error.during("rank " + std::to_string(self_.value)));
}

void Engine::blame(Rank culprit) {
  const Lock lock = enter();
  runner_.blame(culprit);
}

bool Engine::has_lost(Rank peer) {
  const Lock lock = enter();
  if (runner_.failure()) return true;
  runner_.read_notices();
  return runner_.loss_of(peer).has_value();
}

std::optional<Error> Engine::trouble_of(std::span<const Rank> ranks) {
  const Lock lock = enter();
  if (!runner_.failure()) {
    runner_.read_notices();
    runner_.settle_or_fail();
  }
  runner_.remove_done();
  keep_watch();
  if (runner_.failure()) return runner_.failure();
  for (const Rank rank : ranks)
    if (const auto& lost = runner_.loss_of(rank)) {
      runner_.note_culprit(lost->culprit().value_or(rank));
      return lost;
    }
  return std::nullopt;
}

std::span<std::byte> Engine::allocate(std::size_t bytes) {
  const Lock lock = enter();
  return runner_.routes().allocate(bytes);
}

void Engine::free(const std::byte* memory) {
  const Lock lock = enter();
  runner_.routes().free(memory);
}

void Engine::use_flows(int flows) {
  const Lock lock = enter();
  runner_.routes().use_flows(flows);
}

std::vector<LinkCounters> Engine::links() const {
  const Lock lock = enter();
  return runner_.routes().links();
}

bool Engine::take_device_memory(Rank peer, std::span<std::byte> memory) {
  const Lock lock = enter();
  if (peer == self_ || runner_.failure()) return false;
  return runner_.routes().to(peer).transport->take_device_memory(memory);
}

void Engine::give_back_device_memory(Rank peer, std::span<const std::byte> memory) {
  const Lock lock = enter();
  if (peer != self_) runner_.routes().to(peer).transport->give_back_device_memory(memory);
}

std::string Engine::report_of_device_memory() const {
  const Lock lock = enter();
  return runner_.routes().report_of_device_memory();
}

// ---- waiting ----

Engine::Lock Engine::enter() const {
  check_forked();  // In a child the lock may be held by a thread that is not there.
  Lock lock(mutex_, std::try_to_lock);
  if (lock) return lock;
  ++entering_;
  lock.lock();
  --entering_;
  return lock;
}

bool Engine::test(Operation& operation) {
  const Lock lock = enter();
  if (!operation.is_done()) runner_.progress();
  keep_watch();
  return operation.is_done();
}

void Engine::wait(Operation& operation, Reminder* reminder) {
  Lock lock = enter();
  wait(lock, operation, reminder);
}

void Engine::wait(Lock& lock, Operation& operation, Reminder* reminder) {
  if (operation.is_done()) {
    keep_watch();
    if (operation.failure()) throw Error(*operation.failure());
    return;
  }
  AdaptiveWait adaptive_wait(spin_policy_, kYieldsOfWaiter);
  WaitClock clock;
  ++waiters_;
  if (!operation.work().is_courtesy) count_waiting_thread();
  while (!operation.is_done()) {
    if (clock.is_due()) check_interpreter(lock);
    if (runner_.progress()) {
      adaptive_wait.reset();
      continue;
    }
    if (operation.is_done()) break;
    if (!pause(lock, adaptive_wait)) continue;
    const auto longest = reminder != nullptr ? until(reminder->due) : kLongestSleep;
    sleep(lock, &operation, longest_sleep(longest));
    if (clock.is_due_now()) check_interpreter(lock);
    if (runner_.has_warnings()) give_warnings(lock);
    if (reminder == nullptr || until(reminder->due) > 0ms) continue;
    lock.unlock();
    reminder->remind();
    lock.lock();
  }
  if (runner_.has_warnings()) give_warnings(lock);  // A short wait has not slept.
  if (--waiters_ == 0 && driver_ && has_work()) idle_.notify_all();
  keep_watch();
  if (operation.failure()) throw Error(*operation.failure());
}

/// Pauses, and returns true once it is time to sleep. Other threads get the engine meanwhile: what
/// they wait for may be done.
bool Engine::pause(Lock& lock, AdaptiveWait& adaptive_wait) {
  if (waiters_ == 1 && entering_ == 0) return adaptive_wait.pause();
  lock.unlock();
  const bool is_over = adaptive_wait.pause();
  lock.lock();
  return is_over;
}

bool Engine::has_work() const {
  return runner_.has_operations() || runner_.routes().needs_progress();
}

/// Asks whether the interpreter has seen a signal, which ends the job: other ranks wait for what
/// this one would do.
void Engine::check_interpreter(Lock& lock) {
  lock.unlock();
  std::optional<Error> interruption;
  try {
    check_interrupt();
  } catch (const Error& e) {
    interruption = e;
  }
  lock.lock();
  if (interruption) runner_.fail(interruption->during("rank " + std::to_string(self_.value)));
}

void Engine::give_warnings(Lock& lock) {
  const std::vector<std::string> given = runner_.take_warnings();
  if (!warn_) return;
  lock.unlock();
  for (const std::string& sentence : given)
    warn_(sentence);
  lock.lock();
}

/// Sleeps until something comes, or something is to be looked after.
void Engine::sleep(Lock& lock, const Operation* awaited, std::chrono::milliseconds longest) {
  if (watch_.is_kept()) {
    keep_watch();
    if (waiters_ == 1) watch_.kick();  // The sleeper is the background thread, which makes way.
    return watch_.wait_for_end(lock, longest);
  }
  Routes& routes = runner_.routes();
  longest = std::min({longest, routes.may_sleep() ? kLongestSleep : kNap, timeout_ / 8});
  runner_.read_notices();
  runner_.settle_or_fail();
  const bool has_moved = runner_.progress() || (awaited != nullptr && awaited->is_done());
  if (!has_moved) {
    const bool is_awake = runner_.has_offloaded() || routes.must_stay_awake();
    watch_.keep(lock,
                awaited != nullptr ? SleepWatch::Sleeper::waiter : SleepWatch::Sleeper::driver,
                is_awake ? 0ms : std::max(longest, 1ms));
  }
  routes.woke();
  if (!has_moved && !runner_.failure()) {
    runner_.read_notices();
    runner_.check_stalls(waiters_ > 0);
  }
}

void Engine::start_driver() {
  if (has_driver_) return;
  const Lock lock = enter();
  if (!driver_) driver_ = start_thread([this](const std::stop_token& stop) { drive(stop); });
  has_driver_ = true;
}

void Engine::drive_in_background() {
  start_driver();
  const Lock lock = enter();
  idle_.notify_all();
  keep_watch();
}

/// Wakes the thread that sleeps if it may not know what has begun since, or another thread has read
/// what rang for it.
void Engine::keep_watch() {
  if (watch_.is_kept() && (runner_.has_offloaded() || !runner_.routes().may_sleep())) watch_.kick();
}

void Engine::drive(const std::stop_token& stop) {
  Lock lock(mutex_);
  AdaptiveWait adaptive_wait(spin_policy_, kYieldsOfDriver);
  while (!stop.stop_requested()) {
    idle_.wait(lock, stop, [this] { return waiters_ == 0 && has_work(); });
    if (stop.stop_requested()) return;
    if (runner_.progress())
      adaptive_wait.reset();
    else if (adaptive_wait.pause())
      sleep(lock, nullptr, kLongestSleep);
    if (runner_.has_warnings()) give_warnings(lock);
    if (entering_ == 0) continue;
    lock.unlock();
    while (entering_ > 0)
      ::sched_yield();
    lock.lock();
  }
}

}  // namespace fastgpu::comm
