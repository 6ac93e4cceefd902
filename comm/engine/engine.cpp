#include "comm/engine/engine.hpp"

#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/error.hpp"
#include "comm/common/wire.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// Without messages under way there, the network is looked at only now and then: that costs a
/// system call.
constexpr unsigned kTurnsBetweenLooks = 256;

/// For what a rank has sent by MPI before it went.
constexpr auto kHearOut = 100ms;

/// For others to hear why this rank gives up.
constexpr auto kFarewell = 500ms;

std::string name(Rank rank) {
  return "rank " + std::to_string(rank.value);
}

std::uint64_t call_number(MessageTag tag) {
  return tag.value >> 28;
}

}  // namespace

Engine::Engine(Connections connections)
    : self_(connections.rank),
      timeout_(connections.timeout),
      silence_(std::min(connections.silence, connections.timeout)),
      warn_(std::move(connections.warn)),
      topology_(std::move(connections.topology)),
      shared_(std::move(connections.shared)),
      network_(std::make_unique<TcpRail>(std::move(connections.sockets),
                                         static_cast<RailEvents&>(*this),
                                         static_cast<Talk&>(*this))),
      calls_(self_),
      lost_(static_cast<std::size_t>(connections.size)),
      waits_(self_),
      kick_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!kick_) throw system_error("making an event descriptor", errno);
  watch_processes();
  std::vector<int> descriptors =
      network_->descriptors([this](int closing) { fork_guard_->forget(closing); });
  descriptors.push_back(kick_.get());
  fork_guard_.emplace(std::move(descriptors));
  if (shared_) shared_->open(*this, [this](Rank peer) { network_->say(peer, FrameKind::bell); });
  if (!connections.messages) return;
  mpi_ = std::make_unique<MpiRail>(std::move(connections.messages), connections.size,
                                   static_cast<RailEvents&>(*this));
  drive_in_background();  // What has been sent moves only while somebody asks.
}

/// Ranks of this host. Where the kernel knows no pidfd their connections alone tell.
void Engine::watch_processes() {
  for (std::size_t r = 0; shared_ && r < lost_.size(); ++r) {
    const Rank peer{static_cast<int>(r)};
    const pid_t process = shared_->process_of(peer);
    if (process == 0 || process == ::getpid()) continue;
    UniqueFd watched(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    if (watched) network_->watch_process(peer, std::move(watched));
  }
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

bool Engine::shares_memory_with(Rank peer) const noexcept {
  return shared_ && shared_->is_connected(peer);
}

Rail& Engine::rail_to(Rank peer) const {
  if (shares_memory_with(peer)) return *shared_;
  return far_rail();
}

Rail& Engine::far_rail() const noexcept {
  if (mpi_) return *mpi_;
  return *network_;
}

// ---- what rails report ----

void Engine::sent(Outgoing& message) {
  auto& sending = static_cast<Sending&>(message);
  finished_.emplace_back(sending.operation, sending.step);
  if (!shares_memory_with(message.peer)) --over_network_;
}

void Engine::received(Incoming& message) {
  auto& receiving = static_cast<Receiving&>(message);
  finished_.emplace_back(receiving.operation, receiving.step);
  if (!shares_memory_with(message.peer)) --over_network_;
}

void Engine::noted(Rank from, MessageTag tag, const Note& note) {
  try {
    calls_.heard(call_number(tag), from, note);
  } catch (const Error& e) {
    if (!trouble_) trouble_ = e;
  }
}

void Engine::lost(Rank peer, const Error& error) {
  auto& known = lost_[static_cast<std::size_t>(peer.value)];
  if (known) return;
  known = error.during(name(peer));
  newly_lost_.push_back(peer);
}

void Engine::asked_whether_waiting(Rank from, std::span<const std::byte> question) {
  if (active_.empty()) return;
  const auto round = WireReader(question).get<std::uint64_t>();
  network_->say(from, FrameKind::answer, encode(report(round), kMostAnswerBytes));
}

void Engine::answered_to_be_waiting(Rank from, std::span<const std::byte> answer) {
  answered_.insert(from);
  try {
    ask(waits_.heard(from, decode_wait_report(answer)), waits_.round());
  } catch (const Error& e) {
    if (!trouble_) trouble_ = e.during(name(from));
  }
}

void Engine::said_farewell(Rank from, std::span<const std::byte> words) {
  if (trouble_ || words.empty()) return;
  const auto kind = std::to_integer<std::uint8_t>(words[0]);
  // That a user has stopped another rank is no wish of this one's.
  const bool is_known = kind <= static_cast<std::uint8_t>(ErrorKind::internal) &&
                        static_cast<ErrorKind>(kind) != ErrorKind::interrupted;
  std::string text(reinterpret_cast<const char*>(words.data() + 1), words.size() - 1);
  const auto is_control = [](unsigned char c) { return c < ' ' || c == 127; };
  std::ranges::replace_if(text, is_control, '?');  // For whoever shows it on a terminal.
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
  const auto& whole = operation.work().whole;
  if (!whole) return begin_steps(operation);
  whole->start();
  ++wholes_;
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
  const auto& lost = lost_[static_cast<std::size_t>(peer.value)];
  const bool is_send = what.kind == StepKind::send;
  if (lost && is_send) {
    if (!operation.work().is_courtesy) throw Error(*lost);
    return operation.forgo();
  }
  if (lost) newly_lost_.push_back(peer);  // It may have sent this before it went.
  if (!shares_memory_with(peer)) ++over_network_;
  if (is_send)
    rail_to(peer).send(operation.sending(step));
  else
    rail_to(peer).receive(operation.receiving(step));
}

/// Draws the consequences of what rails have reported; false where that was nothing. What a peer
/// says went wrong comes first: a step that begins now would only find that the peer has gone.
bool Engine::settle() {
  if (trouble_) throw Error(*trouble_);
  const bool has_news = !finished_.empty();
  for (std::size_t i = 0; i < finished_.size(); ++i) {
    const auto [operation, step] = finished_[i];
    operation->finished(step);
    ++finished_steps_;
    begin_steps(*operation);
  }
  finished_.clear();
  if (trouble_) throw Error(*trouble_);
  return has_news;
}

bool Engine::progress() {
  if (failure_) return false;
  try {
    bool has_moved = shared_ && shared_->progress();
    has_moved = settle() || has_moved;
    if (wholes_ > 0) has_moved = progress_wholes() || has_moved;
    const bool looks = ++turns_ % kTurnsBetweenLooks == 0;
    if (over_network_ > 0 || is_mpi_busy() || looks) {
      has_moved = far_rail().progress() || has_moved;
      has_moved = settle() || has_moved;
    }
    if (mpi_ && looks) {  // Who gives up says so there.
      has_moved = network_->progress() || has_moved;
      settle();
    }
    if (!newly_lost_.empty()) check_lost();
    if (has_moved) remove_done();
    return has_moved;
  } catch (const Error& e) {
    fail(e);
    return true;
  }
}

void Engine::remove_done() {
  const auto is_done = [](const auto& operation) { return operation->is_done(); };
  if (std::erase_if(active_, is_done) > 0 && sleepers_ > 0) kick();  // It may be theirs.
}

/// What a rank has put into shared memory outlives it, and so does what it said when it gave up:
/// that is read before anybody misses it.
void Engine::check_lost() {
  network_->progress();
  settle();
  for (const Rank peer : std::exchange(newly_lost_, {})) {
    while (shares_memory_with(peer) && shared_->has_mail(peer) && shared_->progress())
      settle();
    if (shares_memory_with(peer)) shared_->forget(peer);
    if (mpi_ && !shares_memory_with(peer)) hear_out_by_mpi(peer);
    for (const auto& operation : active_) {
      if (operation->is_done() || !awaits(*operation, peer)) continue;
      if (!operation->work().is_courtesy) throw Error(*lost_[static_cast<std::size_t>(peer.value)]);
      operation->forgo();
    }
  }
}

/// What a rank has sent by MPI may be later than the news that it has gone.
void Engine::hear_out_by_mpi(Rank peer) {
  const auto is_awaited = [&] {
    return std::ranges::any_of(active_, [&](const auto& each) { return awaits(*each, peer); });
  };
  for (const Deadline deadline(kHearOut); is_awaited() && !deadline.passed(); settle())
    mpi_->progress();
  mpi_->forget(peer);
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
  network_->abandon();
  if (mpi_) mpi_->abandon();
  if (!is_trouble_known_) tell(error);
  if (shared_) shared_->abandon();
  for (const auto& operation : active_)
    if (!operation->is_done()) operation->fail(error.during(describe(operation->work().call)));
  if (!active_.empty()) failure_ = error.during(describe(active_.front()->work().call));
  active_.clear();
  wholes_ = 0;
  finished_.clear();
  if (sleepers_ > 0) kick();
}

void Engine::tell(const Error& error) noexcept {
  const std::string text = error.what();
  const auto bytes = std::as_bytes(std::span(text));
  std::vector<std::byte> words{static_cast<std::byte>(error.kind())};
  words.insert(words.end(), bytes.begin(), bytes.end());
  network_->say_farewell(words, kFarewell);
}

}  // namespace fastgpu::comm
