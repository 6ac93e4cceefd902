#include "comm/engine/runner.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "comm/common/deadline.hpp"
#include "comm/engine/direct_run.hpp"
#include "comm/rendezvous/connections.hpp"
#include "comm/rendezvous/make_transports.hpp"
#include "comm/transports/abort_reason.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// The time in which other ranks can receive the reason why this one gives up.
constexpr auto kAbortTimeout = 500ms;

constexpr unsigned kDirectRunsBetweenLooks = 256;

/// Returns the error of a call after `failure`. That ranks differ has one kind on all of them,
/// whichever call of a rank hears of it.
Error broken_since(const Error& failure) {
  const bool do_ranks_differ = failure.kind() == ErrorKind::usage;
  return {do_ranks_differ ? ErrorKind::usage : ErrorKind::remote,
          "this communicator is broken since " + std::string(failure.what())};
}

std::uint64_t call_number(MessageTag tag) {
  return tag.value >> kCallShift;
}

}  // namespace

Runner::Runner(Connections& connections, RunnerEvents& events)
    : self_(connections.rank),
      events_(events),
      blame_(std::move(connections.blame)),
      calls_(self_),
      lost_(static_cast<std::size_t>(connections.size)),
      routes_(make_transports(connections, *this, *this), connections.size),
      stalls_(self_, StallLimits{connections.timeout, connections.silence}, routes_.control(),
              WaitState{active_, lost_, [this] { return is_blocked(); }}) {}

// ---- reports of transports and ranks ----

void Runner::sent(Outgoing& message) {
  auto& sending = static_cast<Sending&>(message);
  finished_.emplace_back(sending.operation, sending.step);
  --routes_.to(message.peer).under_way;
}

void Runner::received(Incoming& message) {
  auto& receiving = static_cast<Receiving&>(message);
  finished_.emplace_back(receiving.operation, receiving.step);
  --routes_.to(message.peer).under_way;
}

void Runner::noted(Rank from, MessageTag tag, const Note& note) {
  try {
    calls_.on_note(call_number(tag), from, note);
  } catch (const Error& e) {
    if (!trouble_) trouble_ = e;
  }
}

/// Holds the call against what ranks that are ahead have called. A difference is trouble.
void Runner::begin_call(std::uint64_t tag_base, const Note& note) {
  try {
    calls_.begin(call_number({tag_base}), note);
  } catch (const Error& e) {
    if (!trouble_) trouble_ = e;
  }
}

void Runner::lost(Rank peer, const Error& error) {
  auto& loss = lost_[static_cast<std::size_t>(peer.value)];
  if (loss) return;
  const auto* const caused = dynamic_cast<const CausedError*>(&error);
  loss = CausedError(error.during(name_of(peer)), caused ? caused->culprit().value_or(peer) : peer);
  newly_lost_.push_back(peer);
  has_losses_ = true;
}

CausedError Runner::cause_of_refusal(Rank peer, const Error& error) const {
  return trouble_ ? *trouble_ : TransportEvents::cause_of_refusal(peer, error);
}

void Runner::warned(const std::string& sentence) {
  warnings_.push_back(name_of(self_) + ": " + sentence);
}

std::vector<std::string> Runner::take_warnings() {
  std::vector<std::string> all = stalls_.take_warnings();
  std::ranges::move(std::exchange(warnings_, {}), std::back_inserter(all));
  return all;
}

void Runner::opened(int descriptor) {
  events_.descriptor_opened(descriptor);
}

void Runner::closing(int descriptor) {
  events_.descriptor_closing(descriptor);
}

void Runner::on_question(Rank from, std::span<const std::byte> question) {
  stalls_.on_question(from, question);
}

void Runner::on_answer(Rank from, std::span<const std::byte> answer) {
  try {
    stalls_.on_answer(from, answer);
    routes_.to(from).transport->answers_elsewhere(from);
  } catch (const Error& e) {
    if (!trouble_) trouble_ = CausedError(e.during(name_of(from)), from);
  }
}

void Runner::on_abort(Rank from, std::span<const std::byte> reason) {
  if (trouble_ || reason.empty()) return;
  trouble_ = error_of_abort(reason, from);
  is_trouble_known_ = true;
}

// ---- running ----

void Runner::expect_calls(std::uint32_t communicator, std::uint64_t begin) {
  constexpr std::uint64_t kSequences = std::uint64_t{1} << 24;
  calls_.open(std::uint64_t{communicator} << 24 | begin % kSequences);
}

/// Looks for news once in many calls that run directly: a rank that makes no other calls learns of
/// the failures of others, too.
void Runner::look_now_and_then() {
  if (++direct_runs_ % kDirectRunsBetweenLooks != 0) return;
  read_notices();
  move(&Transport::tend);
}

bool Runner::send_now(Outgoing& message) {
  look_now_and_then();
  if (!can_move_now(message.peer, message.bytes.size()) ||
      !routes_.to(message.peer).transport->send_now(message))
    return false;
  stalls_.step_finished();
  return true;
}

bool Runner::receive_now(Incoming& message) {
  look_now_and_then();
  if (!can_move_now(message.peer, message.sink.memory.size()) ||
      !routes_.to(message.peer).transport->receive_now(message))
    return false;
  stalls_.step_finished();
  return true;
}

BegunCall Runner::run_now(const DirectCall& call, DirectWait& wait) {
  look_now_and_then();
  if (!is_clear() || !call.program.direct) return {};
  if (call.note != nullptr) begin_call(call.tag_base, *call.note);
  if (trouble_) return {};  // What is started fails.
  DirectRun run(call, direct_scratch_);
  const auto may_go_on = [&] { return !trouble_ && newly_lost_.empty(); };
  bool is_done = run.advance();
  while (!is_done && may_go_on() && wait.pause())
    is_done = run.advance();
  stalls_.step_finished();
  if (is_done && !trouble_) return {.is_done = true};
  // The last step is not done where trouble came with it.
  const auto done = run.done();
  return {.steps = is_done ? done.first(done.size() - 1) : done, .scratch = run.scratch()};
}

/// Returns whether no operation is under way that would have to be driven meanwhile, and nothing
/// has happened that an operation has to end with.
bool Runner::is_clear() const noexcept {
  return active_.empty() && !failure_ && !trouble_ && !has_losses_;
}

bool Runner::can_move_now(Rank peer, std::size_t bytes) const {
  const std::size_t most = routes_.to(peer).capabilities.most_now;
  return is_clear() && most > 0 && bytes <= most;
}

std::shared_ptr<Operation> Runner::start(Work work, const BegunCall& begun) {
  if (failure_) throw broken_since(*failure_);
  auto operation = pool_.begin(std::move(work));
  const Work& what = operation->work();
  operation->seen_at = roughly_now();
  active_.push_back(operation);
  try {
    if (!begun.steps.empty()) {
      operation->skip(begun.steps, begun.scratch);
      settle();
    } else if (what.note) {
      begin_call(what.tag_base, *what.note);
    }
    if (trouble_) throw CausedError(*trouble_);
    begin(*operation);
    settle();
  } catch (const Error& e) {
    fail(e);
  }
  remove_done();
  return operation;
}

void Runner::begin(Operation& operation) {
  const auto& offloaded = operation.work().offloaded;
  if (!offloaded) return begin_steps(operation);
  offloaded->start();
  ++offloaded_;
}

void Runner::begin_steps(Operation& operation) {
  while (const auto step = operation.next())
    begin_step(operation, *step);
}

void Runner::begin_step(Operation& operation, StepIndex step) {
  const Step& what = operation.work().program->program.steps[step];
  if (what.kind == StepKind::copy || what.kind == StepKind::reduce) {
    operation.run(step);
    finished_.emplace_back(&operation, step);
    return;
  }
  const Rank peer = (*operation.work().program->group)[static_cast<std::size_t>(what.peer.value)];
  const auto& lost = loss_of(peer);
  const bool is_send = what.kind == StepKind::send;
  if (lost && is_send) {
    if (!operation.work().is_courtesy) throw CausedError(*lost);
    return operation.forgo();
  }
  if (lost) newly_lost_.push_back(peer);  // It may have sent this before it went.
  EngineRoute& route = routes_.to(peer);
  ++route.under_way;
  if (is_send)
    route.transport->send(operation.sending(step));
  else
    route.transport->receive(operation.receiving(step));
}

/// Draws the consequences of what transports have reported; returns false where that was nothing. A
/// peer's report of what went wrong comes first: a step that begins now would only find that the
/// peer has gone.
bool Runner::settle() {
  if (trouble_) throw CausedError(*trouble_);
  const bool has_news = !finished_.empty();
  for (std::size_t i = 0; i < finished_.size(); ++i) {
    const auto [operation, step] = finished_[i];
    operation->finished(step);
    stalls_.step_finished();
    begin_steps(*operation);
  }
  finished_.clear();
  if (trouble_) throw CausedError(*trouble_);
  return has_news;
}

void Runner::settle_or_fail() noexcept {
  try {
    settle();
  } catch (const Error& e) {
    fail(e);
  }
}

bool Runner::progress() {
  return move(&Transport::progress);
}

bool Runner::move(bool (Transport::*how)()) {
  if (failure_) return false;
  try {
    bool has_moved = settle();
    routes_.next_turn();
    for (EngineRoute& route : routes_.all()) {
      if (!routes_.is_due(route)) continue;
      has_moved = (*route.transport.*how)() || has_moved;
      has_moved = settle() || has_moved;
    }
    if (offloaded_ > 0) has_moved = progress_offloaded() || has_moved;
    if (!newly_lost_.empty()) check_lost();
    if (has_moved) remove_done();
    return has_moved;
  } catch (const Error& e) {
    fail(e);
    return true;
  }
}

bool Runner::progress_offloaded() {
  const std::size_t before = offloaded_;
  for (const auto& operation : active_) {
    const auto& offloaded = operation->work().offloaded;
    if (!offloaded || operation->is_done() || !offloaded->test()) continue;
    operation->finished_offloaded();
    --offloaded_;
  }
  return offloaded_ < before;
}

void Runner::remove_done() {
  for (std::shared_ptr<Operation>& operation : active_)
    if (operation->is_done()) pool_.keep(std::move(operation));
  if (std::erase(active_, nullptr) > 0) events_.operations_ended();
}

/// Fails the operations that await a lost rank. What it has sent before may still arrive, and so
/// may its reason if it gave up: that is read first.
void Runner::check_lost() {
  routes_.control().progress();
  settle();
  for (const Rank peer : std::exchange(newly_lost_, {})) {
    drain(*routes_.to(peer).transport, peer);
    for (const auto& operation : active_) {
      if (operation->is_done() || !awaits(*operation, peer)) continue;
      if (!operation->work().is_courtesy) throw CausedError(*loss_of(peer));
      operation->forgo();
    }
  }
}

/// Receives the last messages of a rank, and forgets those to it.
void Runner::drain(Transport& transport, Rank lost) {
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

bool Runner::awaits(const Operation& operation, Rank peer) const {
  return std::ranges::any_of(operation.pending(),
                             [&](const Pending& pending) { return pending.peer == peer; });
}

void Runner::fail(const Error& error) noexcept {
  if (failure_) return;
  failure_ = error;
  if (const auto* caused = dynamic_cast<const CausedError*>(&error); caused && caused->culprit())
    note_culprit(*caused->culprit());
  else if (!culprit_)
    write_note(self_);
  // The reason goes first: once a transport is abandoned, its peers may see an error of their own.
  if (!is_trouble_known_) send_abort(error);
  routes_.abandon();
  for (const auto& operation : active_)
    if (!operation->is_done()) operation->fail(error.during(describe(operation->work())));
  if (!active_.empty()) failure_ = error.during(describe(active_.front()->work()));
  active_.clear();
  offloaded_ = 0;
  finished_.clear();
  events_.operations_ended();
}

void Runner::note_culprit(Rank culprit) noexcept {
  const bool is_rank = culprit.value >= 0 && std::cmp_less(culprit.value, lost_.size());
  if (culprit_ || !(is_rank || culprit == kPair)) return;
  culprit_ = culprit;
  write_note(culprit);
}

void Runner::blame(Rank culprit) noexcept {
  if (!culprit_) write_note(culprit);
}

/// Passes a culprit on. This rank itself, or a pair, only takes the place of one that was noted
/// before.
void Runner::write_note(Rank culprit) noexcept {
  const bool is_other = culprit != kPair && culprit != self_;
  if (!blame_ || !(is_other || has_note_)) return;
  has_note_ = true;
  blame_(is_other ? culprit : self_);
}

void Runner::send_abort(const Error& error) noexcept {
  routes_.control().send_abort(abort_reason(error, culprit_), kAbortTimeout);
}

bool Runner::is_blocked() const {
  return events_.do_all_threads_wait() && offloaded_ == 0 && routes_.are_quiet();
}

void Runner::check_stalls(bool is_waiting) noexcept {
  try {
    stalls_.check(is_waiting);
  } catch (const Error& e) {
    fail(e);
  }
}

}  // namespace fastgpu::comm
