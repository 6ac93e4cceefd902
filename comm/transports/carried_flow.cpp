#include "comm/transports/carried_flow.hpp"

#include <algorithm>
#include <utility>

#include "comm/transports/frame_log.hpp"

namespace fastgpu::comm {
namespace {

using namespace std::chrono_literals;

/// Frames that may be unconfirmed. The window grows while they are confirmed sooner than in half of
/// kConfirmTime, and shrinks where that takes longer: what is under way on a slow network holds up
/// the end of a message, which the others wait for.
constexpr std::size_t kLeastWindow = 4;
constexpr std::size_t kLargestWindow = 16;
constexpr auto kConfirmTime = 12ms;

/// A network whose frames are confirmed within this time is asked before the connections: by a
/// slower one a short message would come later. One that was not used for a while is tried.
constexpr auto kSoon = 500us;
constexpr auto kTryAgain = 100ms;

/// Headers that are awaited: those of chunks, and some of confirmations.
constexpr std::size_t kHeadersAwaited = kLargestWindow + 4;

/// Without confirmation for this long the network is silent, if the peer goes on.
constexpr auto kSilence = 1s;

constexpr MessageTag tag_of_header(std::uint64_t frame) {
  return {2 * frame};
}
constexpr MessageTag tag_of_bytes(std::uint64_t frame) {
  return {2 * frame + 1};
}

}  // namespace

CarriedFlow::CarriedFlow(Rank peer, FlowCarrier& carrier, LinkCounters& link)
    : Flow(link), peer_(peer), carrier_(carrier) {
  carrier_.add(*this, peer_);
  advance();
}

CarriedFlow::~CarriedFlow() {
  if (is_open_) give_up();
}

Flow::Remains CarriedFlow::give_up() noexcept {
  is_open_ = false;
  carrier_.forget(peer_);
  // A network that has failed may still write to a block that is awaited: it is not used again.
  for (const Coming& coming : coming_)
    if (coming.progress == Progress::is_whole && !coming.block.empty())
      carrier_.give_block(coming.block);
  coming_.clear();
  leaving_.clear();
  unconfirmed_.clear();
  has_frame_ = false;
  body_ = {};
  owner_ = nullptr;
  return {};
}

void CarriedFlow::abandon() {
  if (owner_ != nullptr) has_frame_ = false;
  body_ = {};
  owner_ = nullptr;
}

bool CarriedFlow::goes_first() const noexcept {
  return usual_time_ < kSoon || Clock::now() - last_confirmed > kTryAgain;
}

// ---- sending ----

void CarriedFlow::begin(const Frame& frame, std::span<const std::byte> body, Outgoing* owner) {
  frame_ = frame;
  body_ = body;
  owner_ = owner;
  has_frame_ = true;
}

void CarriedFlow::begin_copy(const Frame& frame, std::span<const std::byte> body) {
  copied_.assign(body.begin(), body.end());
  begin(frame, copied_, nullptr);
}

/// Hands the frame over to the carrier, which takes all of them: has_room limits their number.
bool CarriedFlow::write() {
  if (!has_frame_) return true;
  if (!is_open_ || ending_) return false;
  Leaving& leaving = leaving_.emplace_front();
  leaving.self = leaving_.begin();
  leaving.header = encode(frame_);
  const bool is_borrowed = owner_ != nullptr;
  if (!is_borrowed) leaving.copied = std::move(copied_);
  const std::span<const std::byte> body = is_borrowed ? body_ : std::span(leaving.copied);
  const bool has_body = !body.empty();
  leaving.parts = has_body ? 2 : 1;
  leaving.head.peer = leaving.body.peer = peer_;
  leaving.head.client = leaving.body.client = this;
  leaving.head.frame = leaving.body.frame = &leaving;
  leaving.head.tag = tag_of_header(frames_out_);
  leaving.head.bytes = leaving.header;
  leaving.body.tag = tag_of_bytes(frames_out_);
  leaving.body.bytes = body;
  ++frames_out_;
  has_frame_ = false;
  if (FrameLog::counts(frame_.kind)) unconfirmed_.push_back(Clock::now());
  carrier_.transport().send(leaving.head);  // Without bytes the frame may be gone after this.
  if (has_body) carrier_.transport().send(leaving.body);
  return true;
}

void CarriedFlow::confirmed(std::size_t frames) {
  Flow::confirmed(frames);
  const bool was_full = unconfirmed_.size() >= window_;
  const std::size_t known = std::min(frames, unconfirmed_.size());
  if (known == 0) return;
  const Clock::duration took = last_confirmed - unconfirmed_[known - 1];
  usual_time_ += (took - usual_time_) / 8;
  unconfirmed_.erase(unconfirmed_.begin(),
                     unconfirmed_.begin() + static_cast<std::ptrdiff_t>(known));
  if (took > kConfirmTime)
    window_ = std::max(kLeastWindow, window_ - 1);
  else if (was_full && took < kConfirmTime / 2)
    window_ = std::min(kLargestWindow, window_ + 1);
  carrier_.mark(peer_);
}

void CarriedFlow::sent(CarriedOutgoing& message) {
  auto& part = static_cast<OutgoingPart&>(message);
  if (--part.frame->parts == 0) leaving_.erase(part.frame->self);
}

bool CarriedFlow::is_silent() const noexcept {
  if (unconfirmed_.empty()) return false;
  return Clock::now() - std::max(last_confirmed, unconfirmed_.front()) > kSilence;
}

// ---- receiving ----

void CarriedFlow::await_header() {
  Coming& coming = coming_.emplace_back();
  coming.head.peer = coming.body.peer = peer_;
  coming.head.client = coming.body.client = this;
  coming.head.frame = coming.body.frame = &coming;
  coming.head.tag = tag_of_header(frames_in_);
  coming.head.sink.memory = coming.header;
  coming.body.tag = tag_of_bytes(frames_in_);
  ++frames_in_;
  carrier_.transport().receive(coming.head);
}

void CarriedFlow::await_bytes(Coming& coming) {
  coming.block = carrier_.take_block();
  coming.progress = Progress::awaits_bytes;
  coming.body.sink.memory = coming.block.first(coming.frame.length);
  carrier_.transport().receive(coming.body);
}

void CarriedFlow::advance() noexcept {
  try {
    for (std::size_t i = 0; is_open_ && !ending_ && i < coming_.size(); ++i)
      if (coming_[i].progress == Progress::has_header) await_bytes(coming_[i]);
    while (is_open_ && !ending_ && coming_.size() < kHeadersAwaited)
      await_header();
  } catch (const Error& e) {
    lost(e);
  }
}

void CarriedFlow::received(CarriedIncoming& message) {
  auto& part = static_cast<IncomingPart&>(message);
  Coming& coming = *part.frame;
  if (&part == &coming.head)
    open_header(coming);
  else
    coming.progress = Progress::is_whole;
  carrier_.mark(peer_);
}

void CarriedFlow::open_header(Coming& coming) {
  try {
    coming.frame = decode_frame(coming.header);
    if (coming.frame.length > kChunkBytes)
      throw Error(ErrorKind::remote, "it sent a chunk that is too long for its block");
    coming.progress = coming.frame.length == 0 ? Progress::is_whole : Progress::has_header;
  } catch (const Error& e) {
    nonsense_ = e;
  }
}

void CarriedFlow::lost(const Error& error) {
  if (!ending_) ending_ = error;
  carrier_.mark(peer_);
}

bool CarriedFlow::read(FrameEvents& events) {
  bool has_moved = false;
  while (is_open_ && !coming_.empty() && coming_.front().progress == Progress::is_whole &&
         events.may_read()) {
    // The receiver of the frame may close this flow.
    const Frame frame = coming_.front().frame;
    const std::span<std::byte> block = coming_.front().block;
    coming_.pop_front();
    events.arrived(frame, block.first(frame.length));
    if (!block.empty()) carrier_.give_block(block);
    has_moved = true;
  }
  if (!is_open_) return has_moved;
  advance();
  if (nonsense_) throw Error(*nonsense_);
  if (ending_) throw Error(*ending_);
  return has_moved;
}

}  // namespace fastgpu::comm
