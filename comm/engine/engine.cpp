#include "comm/engine/engine.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string>

#include "base/error.hpp"
#include "comm/common/deadline.hpp"
#include "comm/common/interrupt.hpp"
#include "comm/rendezvous/connections.hpp"
#include "comm/rendezvous/make_transports.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// The turns between two looks at a transport without messages under way whose look costs a system
/// call.
constexpr unsigned kTurnsBetweenLooks = 256;

/// The time in which other ranks can receive the reason why this one gives up.
constexpr auto kAbortTimeout = 500ms;

/// A few hundred microseconds on a core that no other thread wants.
constexpr int kYieldsOfWaiter = 1000;
/// The background thread leaves the core to the program sooner.
constexpr int kYieldsOfDriver = 100;

/// The longest sleep where a transport has something to do that nothing announces.
constexpr auto kNap = 1ms;
constexpr std::chrono::milliseconds kLongestSleep = 1000ms;

std::string name(Rank rank) {
  return "rank " + std::to_string(rank.value);
}

std::uint64_t call_number(MessageTag tag) {
  return tag.value >> 28;
}

std::chrono::milliseconds until(std::chrono::steady_clock::time_point due) {
  return std::chrono::ceil<std::chrono::milliseconds>(due - std::chrono::steady_clock::now());
}

}  // namespace

Engine::Engine(Connections connections)
    : self_(connections.rank),
      timeout_(connections.timeout),
      warn_(std::move(connections.warn)),
      topology_(std::move(connections.topology)),
      route_to_(static_cast<std::size_t>(connections.size)),
      calls_(self_),
      lost_(static_cast<std::size_t>(connections.size)),
      kick_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!kick_) throw system_error("making an event descriptor", errno);
  Transports transports = make_transports(connections, *this, *this);
  control_ = transports.control;
  for (auto& transport : transports.all) {
    const TransportCapabilities capabilities = transport->capabilities();
    routes_.push_back({std::move(transport), capabilities});
  }
  choose_routes();
  stalls_.emplace(self_, StallLimits{timeout_, connections.silence}, *control_,
                  WaitState{active_, lost_, [this] { return is_blocked(); }});
  guard_descriptors();
  if (moves_only_when_called()) drive_in_background();  // Whatever was sent moves only so.
}

void Engine::choose_routes() {
  for (std::size_t r = 0; r < route_to_.size(); ++r) {
    const Rank peer{static_cast<int>(r)};
    const auto route = std::ranges::find_if(
        routes_, [&](const Route& each) { return each.transport->reaches(peer); });
    if (route != routes_.end()) route_to_[r] = &*route;
  }
  for (const Route& route : routes_)
    if (Heap* const heap = route.transport->heap(); heap != nullptr && heap_ == &private_heap_)
      heap_ = heap;
}

void Engine::guard_descriptors() {
  std::vector<int> descriptors{kick_.get()};
  wake_ends_.push_back({kick_.get(), POLLIN, 0});
  for (const Route& route : routes_) {
    std::ranges::copy(route.transport->descriptors(), std::back_inserter(descriptors));
    const int polled = route.transport->poll_descriptor();
    if (polled >= 0) wake_ends_.push_back({polled, POLLIN, 0});
  }
  fork_guard_.emplace(std::move(descriptors));
}

void Engine::check_forked() const {
  if (is_forked())
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
    kick();
  }
}

int Engine::most_flows() const noexcept {
  int most = 1;
  for (const Route& route : routes_)
    most = std::max(most, route.capabilities.flows);
  return most;
}

// ---- reports of transports and ranks ----

void Engine::sent(Outgoing& message) {
  auto& sending = static_cast<Sending&>(message);
  finished_.emplace_back(sending.operation, sending.step);
  --route_to(message.peer).under_way;
}

void Engine::received(Incoming& message) {
  auto& receiving = static_cast<Receiving&>(message);
  finished_.emplace_back(receiving.operation, receiving.step);
  --route_to(message.peer).under_way;
}

void Engine::noted(Rank from, MessageTag tag, const Note& note) {
  try {
    calls_.on_note(call_number(tag), from, note);
  } catch (const Error& e) {
    if (!trouble_) trouble_ = e;
  }
}

void Engine::lost(Rank peer, const Error& error) {
  if (loss_of(peer)) return;
  loss_of(peer) = error.during(name(peer));
  newly_lost_.push_back(peer);
}

void Engine::closing(int descriptor) {
  fork_guard_->forget(descriptor);
}

void Engine::on_question(Rank from, std::span<const std::byte> question) {
  stalls_->on_question(from, question);
}

void Engine::on_answer(Rank from, std::span<const std::byte> answer) {
  try {
    stalls_->on_answer(from, answer);
  } catch (const Error& e) {
    if (!trouble_) trouble_ = e.during(name(from));
  }
}

void Engine::on_abort(Rank from, std::span<const std::byte> reason) {
  if (trouble_ || reason.empty()) return;
  const auto kind = std::to_integer<std::uint8_t>(reason[0]);
  // That a user has stopped another rank is not this one's interruption.
  const bool is_known = kind <= static_cast<std::uint8_t>(ErrorKind::internal) &&
                        static_cast<ErrorKind>(kind) != ErrorKind::interrupted;
  std::string text(reinterpret_cast<const char*>(reason.data() + 1), reason.size() - 1);
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 127; };
  std::ranges::replace_if(text, is_control, '?');  // Safe on a terminal.
  trouble_ = Error(is_known ? static_cast<ErrorKind>(kind) : ErrorKind::remote,
                   text + " (" + name(from) + " says so)");
  is_trouble_known_ = true;
}

// ---- running ----

void Engine::expect_calls(std::uint32_t communicator, std::uint64_t begin) {
  const Lock lock = enter();
  constexpr std::uint64_t kSequences = std::uint64_t{1} << 24;
  calls_.open(std::uint64_t{communicator} << 24 | begin % kSequences);
}

std::shared_ptr<Operation> Engine::start(Work work) {
  const Lock lock = enter();
  if (failure_)
    throw Error(ErrorKind::remote,
                "this communicator is broken since " + std::string(failure_->what()));
  auto operation = std::make_shared<Operation>(std::move(work));
  const Work& what = operation->work();
  operation->seen_at = std::chrono::steady_clock::now();
  active_.push_back(operation);
  try {
    if (what.has_note) calls_.begin(call_number({what.tag_base}), what.call);
    begin(*operation);
    settle();
  } catch (const Error& e) {
    fail(e);
  }
  remove_done();
  return operation;
}

void Engine::begin(Operation& operation) {
  const auto& offloaded = operation.work().offloaded;
  if (!offloaded) return begin_steps(operation);
  offloaded->start();
  ++offloaded_;
}

void Engine::begin_steps(Operation& operation) {
  while (const auto step = operation.next())
    begin_step(operation, *step);
}

void Engine::begin_step(Operation& operation, StepIndex step) {
  const Step& what = operation.work().program->program.steps[step];
  if (what.kind == StepKind::copy || what.kind == StepKind::reduce) {
    operation.run(step);
    finished_.emplace_back(&operation, step);
    return;
  }
  const Rank peer = (*operation.work().group)[static_cast<std::size_t>(what.peer.value)];
  const auto& lost = loss_of(peer);
  const bool is_send = what.kind == StepKind::send;
  if (lost && is_send) {
    if (!operation.work().is_courtesy) throw Error(*lost);
    return operation.forgo();
  }
  if (lost) newly_lost_.push_back(peer);  // It may have sent this before it went.
  Route& route = route_to(peer);
  ++route.under_way;
  if (is_send)
    route.transport->send(operation.sending(step));
  else
    route.transport->receive(operation.receiving(step));
}

/// Draws the consequences of what transports have reported; returns false where that was nothing. A
/// peer's report of what went wrong comes first: a step that begins now would only find that the
/// peer has gone.
bool Engine::settle() {
  if (trouble_) throw Error(*trouble_);
  const bool has_news = !finished_.empty();
  for (std::size_t i = 0; i < finished_.size(); ++i) {
    const auto [operation, step] = finished_[i];
    operation->finished(step);
    stalls_->step_finished();
    begin_steps(*operation);
  }
  finished_.clear();
  if (trouble_) throw Error(*trouble_);
  return has_news;
}

void Engine::settle_or_fail() noexcept {
  try {
    settle();
  } catch (const Error& e) {
    fail(e);
  }
}

bool Engine::progress() {
  if (failure_) return false;
  try {
    bool has_moved = settle();
    const bool looks = ++turns_ % kTurnsBetweenLooks == 0;
    for (Route& route : routes_)
      if (looks || route.capabilities.is_free_to_poll || route.under_way > 0 ||
          (route.capabilities.moves_only_when_called && route.transport->needs_progress()))
        has_moved = progress(route) || has_moved;
    if (offloaded_ > 0) has_moved = progress_offloaded() || has_moved;
    if (!newly_lost_.empty()) check_lost();
    if (has_moved) remove_done();
    return has_moved;
  } catch (const Error& e) {
    fail(e);
    return true;
  }
}

bool Engine::progress(Route& route) {
  const bool has_moved = route.transport->progress();
  return settle() || has_moved;
}

bool Engine::progress_offloaded() {
  const std::size_t before = offloaded_;
  for (const auto& operation : active_) {
    const auto& offloaded = operation->work().offloaded;
    if (!offloaded || operation->is_done() || !offloaded->test()) continue;
    operation->finished_offloaded();
    --offloaded_;
  }
  return offloaded_ < before;
}

void Engine::remove_done() {
  const auto is_done = [](const auto& operation) { return operation->is_done(); };
  if (std::erase_if(active_, is_done) > 0 && sleepers_ > 0) kick();  // It may be theirs.
}

/// Fails the operations that await a lost rank. What it has sent before may still arrive, and so
/// may its reason if it gave up: that is read first.
void Engine::check_lost() {
  control_->progress();
  settle();
  for (const Rank peer : std::exchange(newly_lost_, {})) {
    drain(*route_to(peer).transport, peer);
    for (const auto& operation : active_) {
      if (operation->is_done() || !awaits(*operation, peer)) continue;
      if (!operation->work().is_courtesy) throw Error(*loss_of(peer));
      operation->forgo();
    }
  }
}

/// Receives the last messages of a rank, and forgets those to it.
void Engine::drain(Transport& transport, Rank lost) {
  while (transport.has_arrived(lost) && transport.progress())
    settle();
  const auto is_awaited = [&] {
    return std::ranges::any_of(active_, [&](const auto& each) { return awaits(*each, lost); });
  };
  const Deadline deadline(transport.capabilities().delay_of_last_messages);
  for (; !deadline.passed() && is_awaited(); settle())
    transport.progress();
  transport.forget(lost);
}

bool Engine::awaits(const Operation& operation, Rank peer) const {
  return std::ranges::any_of(operation.pending(),
                             [&](const Pending& pending) { return pending.peer == peer; });
}

void Engine::give_up(const Error& error) {
  const Lock lock = enter();
  fail(error.during(name(self_)));
}

void Engine::fail(const Error& error) noexcept {
  if (failure_) return;
  failure_ = error;
  for (const Route& route : routes_)
    route.transport->abandon();
  if (!is_trouble_known_) send_abort(error);
  for (const auto& operation : active_)
    if (!operation->is_done()) operation->fail(error.during(describe(operation->work().call)));
  if (!active_.empty()) failure_ = error.during(describe(active_.front()->work().call));
  active_.clear();
  offloaded_ = 0;
  finished_.clear();
  if (sleepers_ > 0) kick();
}

void Engine::send_abort(const Error& error) noexcept {
  const std::string text = error.what();
  const auto bytes = std::as_bytes(std::span(text));
  std::vector<std::byte> reason{static_cast<std::byte>(error.kind())};
  reason.insert(reason.end(), bytes.begin(), bytes.end());
  control_->send_abort(reason, kAbortTimeout);
}

bool Engine::has_lost(Rank peer) {
  const Lock lock = enter();
  if (failure_) return true;
  control_->progress();
  return loss_of(peer).has_value();
}

std::optional<Error> Engine::trouble_of(std::span<const Rank> ranks) {
  const Lock lock = enter();
  if (!failure_) {
    control_->progress();
    settle_or_fail();
  }
  remove_done();
  keep_watch();
  if (failure_) return failure_;
  for (const Rank rank : ranks)
    if (const auto& lost = loss_of(rank)) return lost;
  return std::nullopt;
}

std::span<std::byte> Engine::allocate(std::size_t bytes) {
  const Lock lock = enter();
  const auto memory = heap_->allocate(bytes);
  try {
    for (const Route& route : routes_)
      route.transport->allocated(memory);
  } catch (const Error&) {
    free_everywhere(memory.data());
    throw;
  }
  return memory;
}

void Engine::free(const std::byte* memory) {
  const Lock lock = enter();
  free_everywhere(memory);
}

void Engine::free_everywhere(const std::byte* memory) {
  for (const Route& route : routes_)
    route.transport->freed(memory);
  heap_->free(memory);
}

void Engine::use_flows(int flows) {
  const Lock lock = enter();
  for (const Route& route : routes_)
    route.transport->use_flows(flows);
}

// ---- waiting ----

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
  AdaptiveWait adaptive_wait(spin_policy_, kYieldsOfWaiter);
  WaitClock clock;
  ++waiters_;
  if (!operation.work().is_courtesy) waiting_threads_.insert(std::this_thread::get_id());
  while (!operation.is_done()) {
    if (clock.is_due()) check_interpreter(lock);
    if (progress()) {
      adaptive_wait.reset();
      continue;
    }
    if (operation.is_done()) break;
    if (!adaptive_wait.pause()) continue;
    const auto longest = reminder != nullptr ? until(reminder->due) : kLongestSleep;
    sleep(lock, &operation, longest_sleep(longest));
    if (clock.is_due_now()) check_interpreter(lock);
    if (stalls_->has_warnings()) give_warnings(lock);
    if (reminder == nullptr || until(reminder->due) > 0ms) continue;
    lock.unlock();
    reminder->remind();
    lock.lock();
  }
  if (--waiters_ == 0 && driver_ && (!active_.empty() || needs_progress())) idle_.notify_all();
  keep_watch();
  if (operation.failure()) throw Error(*operation.failure());
}

bool Engine::may_sleep() {
  bool may_all = true;
  for (const Route& route : routes_)
    may_all = route.transport->may_sleep() && may_all;
  return may_all;
}

bool Engine::needs_progress() const {
  return std::ranges::any_of(routes_,
                             [](const Route& route) { return route.transport->needs_progress(); });
}

bool Engine::moves_only_when_called() const {
  return std::ranges::any_of(
      routes_, [](const Route& route) { return route.capabilities.moves_only_when_called; });
}

bool Engine::is_blocked() const {
  const bool all_wait =
      waiters_ > 0 && static_cast<std::size_t>(waiters_) == waiting_threads_.size();
  return all_wait && offloaded_ == 0 && std::ranges::all_of(routes_, [](const Route& route) {
           return route.transport->is_quiet();
         });
}

void Engine::check_stalls() noexcept {
  try {
    stalls_->check(waiters_ > 0);
  } catch (const Error& e) {
    fail(e);
  }
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
  if (interruption) fail(interruption->during(name(self_)));
}

void Engine::give_warnings(Lock& lock) {
  const std::vector<std::string> given = stalls_->take_warnings();
  if (!warn_) return;
  lock.unlock();
  for (const std::string& sentence : given)
    warn_(sentence);
  lock.lock();
}

/// Sleeps until something comes, or something is to be looked after. One thread sleeps for all that
/// wait: two would take each other's wake-ups.
void Engine::sleep(Lock& lock, const Operation* awaited, std::chrono::milliseconds longest) {
  if (is_watched_) {
    keep_watch();
    if (waiters_ == 1) kick();  // The sleeper is the background thread, which makes way.
    ++sleepers_;
    watch_ended_.wait_for(lock, longest);
    --sleepers_;
    return;
  }
  longest = std::min({longest, may_sleep() ? kLongestSleep : kNap, timeout_ / 8});
  control_->progress();
  settle_or_fail();
  const bool has_moved = progress() || (awaited != nullptr && awaited->is_done());
  if (!has_moved) poll_unlocked(lock, awaited, longest);
  for (const Route& route : routes_)
    route.transport->woke();
  if (!has_moved && !failure_) {
    control_->progress();
    check_stalls();
  }
}

void Engine::poll_unlocked(Lock& lock, const Operation* awaited,
                           std::chrono::milliseconds longest) {
  const bool is_awake = offloaded_ > 0 || std::ranges::any_of(routes_, [](const Route& route) {
                          return route.capabilities.moves_only_when_called &&
                                 route.transport->poll_descriptor() < 0 && route.under_way > 0;
                        });
  const int timeout = is_awake ? 0 : static_cast<int>(std::max(longest, 1ms).count());
  const int waiter = awaited != nullptr ? 1 : 0;
  is_watched_ = true;
  sleepers_ += waiter;
  lock.unlock();
  if (is_awake) ::sched_yield();
  ::poll(wake_ends_.data(), wake_ends_.size(), timeout);  // No other thread uses them meanwhile.
  lock.lock();
  sleepers_ -= waiter;
  is_watched_ = false;
  watch_ended_.notify_all();
  eventfd_t kicks = 0;
  if (wake_ends_.front().revents != 0) ::eventfd_read(kick_.get(), &kicks);
}

void Engine::drive_in_background() {
  const Lock lock = enter();
  if (!driver_) driver_.emplace([this](const std::stop_token& stop) { drive(stop); });
  idle_.notify_all();
  keep_watch();
}

/// Wakes the thread that sleeps if it may not know what has begun since, or another thread has read
/// what rang for it.
void Engine::keep_watch() {
  if (is_watched_ && (offloaded_ > 0 || !may_sleep())) kick();
}

void Engine::drive(const std::stop_token& stop) {
  Lock lock(mutex_);
  AdaptiveWait adaptive_wait(spin_policy_, kYieldsOfDriver);
  while (!stop.stop_requested()) {
    idle_.wait(lock, stop,
               [this] { return waiters_ == 0 && (!active_.empty() || needs_progress()); });
    if (stop.stop_requested()) return;
    if (progress())
      adaptive_wait.reset();
    else if (adaptive_wait.pause())
      sleep(lock, nullptr, kLongestSleep);
    if (stalls_->has_warnings()) give_warnings(lock);
    if (entering_ == 0) continue;
    lock.unlock();
    while (entering_ > 0)
      ::sched_yield();
    lock.lock();
  }
}

void Engine::kick() const noexcept {
  ::eventfd_write(kick_.get(), 1);
}

}  // namespace fastgpu::comm
