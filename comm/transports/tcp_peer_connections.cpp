// The connections to a peer that are given up, and those that are made in their place.
#include <string>
#include <utility>

#include "base/error.hpp"
#include "comm/transports/tcp_peer.hpp"

namespace fastgpu::comm {
namespace {

[[noreturn]] void refuse_tcp(const std::string& what) {
  throw Error(ErrorKind::remote, what);
}

}  // namespace

/// Begins to confirm frames.
void TcpPeer::number_flows() {
  logs_.resize(flows_.size());
  paces_.resize(flows_.size());
  for (std::size_t flow = 0; flow < flows_.size(); ++flow)
    begin(flow, {.frame = {.kind = TcpFrameKind::number, .offset = flow}});
}

/// Returns whether its peer has been sent, or can be sent, the number of the connection.
bool TcpPeer::can_announce(std::size_t flow) const noexcept {
  return !logs_.empty() && (logs_[flow].peers_number || flow >= first_flows_);
}

bool TcpPeer::can_spare(std::size_t flow) const noexcept {
  const auto is_other_connection = [&](const auto& each) {
    return each != flows_[flow] && each->is_open() && each->carries_notices();
  };
  return can_announce(flow) && flows_[flow]->is_open() &&
         std::ranges::any_of(flows_, is_other_connection);
}

bool TcpPeer::can_spare_last(std::size_t flow) const noexcept {
  if (can_spare(flow)) return true;
  if (!can_announce(flow) || !flows_[flow]->is_open() || !flows_[flow]->carries_notices())
    return false;
  for (std::size_t other = 0; other < flows_.size(); ++other)
    if (is_carried(other)) return true;
  return false;
}

bool TcpPeer::has_connection() const noexcept {
  for (std::size_t flow = 0; flow < flows_.size(); ++flow)
    if (flows_[flow]->carries_notices() && may_use(flow)) return true;
  return false;
}

bool TcpPeer::is_carried(std::size_t flow) const noexcept {
  const Flow& asked = *flows_[flow];
  return !asked.carries_notices() && !asked.has_ended() && may_use(flow);
}

void TcpPeer::ring(std::size_t flow) {
  if (!may_use(flow) || !flows_[flow]->is_idle() || !flows_[flow]->has_room()) return;
  begin(flow, {.frame = {.kind = TcpFrameKind::bell}});
}

void TcpPeer::add(std::unique_ptr<Flow> flow) {
  if (logs_.empty()) number_flows();
  const std::size_t number = flows_.size();
  flows_.push_back(std::move(flow));
  logs_.emplace_back();
  paces_.emplace_back();
  begin(number, {.frame = {.kind = TcpFrameKind::number, .offset = number}});
}

void TcpPeer::retire(std::size_t flow, const std::string& reason) {
  try {
    while (read(flow)) {
    }
  } catch (const Error&) {  // It has ended. What else was wrong with it does not matter any more.
  }
  if (!flows_[flow]->is_open()) return;  // The last frames in it have led here.
  Flow::Remains remains = flows_[flow]->give_up();
  if (remains.half_read) receives_.comes_again(*remains.half_read);
  retired_.push_back({std::move(remains.socket), &flows_[flow]->link(), reason});
  ++retired_flows_;
  for (const SentFrame& frame : logs_[flow].unconfirmed())
    if (frame.frame.kind == TcpFrameKind::retired) notices_.add_first(frame);
  if (!is_new(flow)) announce_retired(flow);
  for (FrameLog& each : logs_)  // Confirmations may have gone this way.
    each.confirm_again();
  send_confirmations();
}

/// Notifies the peer, which sends again what has not come. The notice itself is sent again as soon
/// as its connection ends: if each side waited for a notice that the other one has lost, no frame
/// would be sent again. A peer that gets it twice ignores the second one.
void TcpPeer::announce_retired(std::size_t flow) {
  const FrameLog& log = logs_[flow];
  notices_.add_first({.frame = {.kind = TcpFrameKind::retired,
                                .tag = {flow},
                                .offset = *log.peers_number,
                                .total = log.taken()}});
}

/// Returns the bytes of a frame that show how fast its flow is: few bytes show how late it is.
std::size_t TcpPeer::paced_bytes(const SentFrame& frame) noexcept {
  return frame.frame.length >= kUnasked ? frame.frame.length : 0;
}

/// The peer has taken frames of a connection.
void TcpPeer::confirm(const Frame& taken) {
  if (taken.offset >= logs_.size()) refuse_tcp("it named a connection that there is not");
  std::size_t bytes = 0;
  const std::size_t frames = logs_[taken.offset].confirm(taken.total, [&](const SentFrame& frame) {
    bytes += paced_bytes(frame);
    if (frame.owner != nullptr) count_sent(*frame.owner, frame.body.size());
  });
  if (frames == 0) return;
  if (bytes > 0) paces_[taken.offset].confirmed(bytes, Flow::Clock::now());
  flows_[taken.offset]->confirmed(frames);
}

/// The peer has given a connection up: so does this rank, and what has not come goes again.
void TcpPeer::peer_retired(const Frame& retired) {
  confirm(retired);
  const auto flow = static_cast<std::size_t>(retired.offset);
  const bool is_unnumbered = is_new(flow);
  // The frame with the number may have been lost with the connection.
  if (is_unnumbered) logs_[flow].peers_number = retired.tag.value;
  if (flows_[flow]->is_open()) {
    if (!can_spare_last(flow)) refuse_tcp("it gave up the last connection");
    retire(flow, "rank " + std::to_string(rank_.value) + " gave it up");
  } else if (is_unnumbered) {
    announce_retired(flow);
  }
  paces_[flow].forget_sent();
  for (SentFrame& frame : logs_[flow].take_unconfirmed()) {
    const TcpFrameKind kind = frame.frame.kind;
    const bool is_forgotten = kind == TcpFrameKind::chunk && frame.owner == nullptr;
    const bool is_about_connection = kind == TcpFrameKind::number || kind == TcpFrameKind::retired;
    if (!is_forgotten && !is_about_connection) again_.push_back(std::move(frame));
  }
}

void TcpPeer::send_confirmations() {
  for (std::size_t flow = 0; flow < logs_.size(); ++flow) {
    const bool confirms_itself = flows_[flow]->is_open() && !flows_[flow]->carries_notices();
    FrameLog& log = logs_[flow];
    if (confirms_itself || !log.peers_number || !log.take_due()) continue;
    notices_.add_taken(*log.peers_number, log.taken());
  }
}

void TcpPeer::about_connection(const Frame& frame) {
  if (logs_.empty()) refuse_tcp("it confirms frames, which this rank does not ask for");
  if (frame.kind == TcpFrameKind::number)
    logs_[reading_.flow].peers_number = frame.offset;
  else if (frame.kind == TcpFrameKind::taken)
    confirm(frame);
  else
    peer_retired(frame);
}

}  // namespace fastgpu::comm
