// Messages that a rank waits for while a fuzzer plays the other one.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "comm/transports/transport.hpp"

namespace fastgpu::fuzz {

/// Of four lengths, every other one added to what is there.
class AwaitedMessages {
 public:
  explicit AwaitedMessages(const std::array<std::size_t, 4>& lengths) {
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      memory_[i].resize(lengths[i]);
      messages_[i].peer = {1};
      messages_[i].tag = {i};
      messages_[i].sink.memory = std::as_writable_bytes(std::span(memory_[i]));
      if (i % 2 == 0)
        messages_[i].sink.reduction = {comm::ElementType::float32, comm::ReduceOp::sum};
    }
  }

  /// Lets the transport hear all that `say` makes it be told; one message is asked for after that
  /// only.
  template <class Transport, class Send>
  void await(Transport& transport, const Send& send) {
    for (std::size_t i = 0; i < messages_.size(); ++i)
      if (i != kLate) transport.receive(messages_[i]);
    send();
    while (transport.progress()) {
    }
    transport.receive(messages_[kLate]);
  }

 private:
  static constexpr std::size_t kLate = 1;

  std::array<std::vector<float>, 4> memory_;
  std::array<comm::Incoming, 4> messages_;
};

/// Events of a transport: what was received is whole, and only the other rank is to blame.
template <class... Events>
class CheckedEvents : public comm::TransportEvents, public Events... {
 public:
  void sent(comm::Outgoing&) override {}
  void received(comm::Incoming& message) override {
    if (message.moved != message.sink.memory.size()) __builtin_trap();
  }
  void noted(comm::Rank, comm::MessageTag, const comm::Note&) override {}
  void lost(comm::Rank, const Error& e) override {
    if (e.kind() != ErrorKind::remote) __builtin_trap();
  }
};

}  // namespace fastgpu::fuzz
