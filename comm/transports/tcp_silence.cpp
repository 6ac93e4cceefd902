#include "comm/transports/tcp_silence.hpp"

#include <chrono>

#include "comm/transports/flow.hpp"

namespace fastgpu::comm {
namespace {

/// A question for room needs time for its answer.
constexpr int kLooksForSilence = 3;
/// A peer that answers at all confirms what comes by a connection within this time.
constexpr std::chrono::milliseconds kAnswerTime{100};

bool has_just_answered(const Flow& flow) {
  return Flow::Clock::now() - flow.last_confirmed < kAnswerTime;
}

/// No connection answers: asks by other networks, and returns true if an answer has come.
bool look_for_answers_elsewhere(TcpPeer& peer, CarrierHub& hub) {
  bool is_heard = false;
  for (std::size_t flow = 0; flow < peer.flows().size(); ++flow) {
    if (!peer.is_carried(flow)) continue;
    is_heard = is_heard || has_just_answered(*peer.flows()[flow]);
    if (peer.has_connection()) peer.ring(flow);
  }
  hub.write(peer);
  return is_heard;
}

}  // namespace

bool look_for_silence(TcpPeer& peer, CarrierHub& hub) {
  bool is_heard = false;
  bool does_answer = false;
  bool must_answer = false;
  for (const auto& flow : peer.flows()) {
    if (!flow->is_open() || !flow->carries_notices()) continue;
    flow->silent_looks = flow->is_silent() ? flow->silent_looks + 1 : 0;
    is_heard = is_heard || flow->silent_looks == 0;
    does_answer = does_answer || has_just_answered(*flow);
  }
  for (const auto& flow : peer.flows()) {
    if (!flow->is_open() || flow->carries_notices()) continue;
    const bool is_silent = flow->is_silent();
    must_answer = must_answer || is_silent;
    if (!is_silent) flow->silent_looks = 0;
    if (is_silent && does_answer) ++flow->silent_looks;
  }
  if (must_answer) {
    peer.send_control(TcpFrameKind::bell);
    hub.write(peer);
  }
  return is_heard || look_for_answers_elsewhere(peer, hub);
}

bool is_silent_for_long(const TcpPeer& peer, std::size_t flow) {
  return peer.flows()[flow]->silent_looks >= kLooksForSilence && peer.can_spare_last(flow);
}

}  // namespace fastgpu::comm
