// The reports of a transport, for tests that drive it by hand.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/transports/control_channel.hpp"
#include "comm/transports/transport.hpp"

namespace fastgpu::test {

class TransportReports final : public comm::TransportEvents, public comm::ControlEvents {
 public:
  void sent(comm::Outgoing&) override { ++sent_messages; }
  void received(comm::Incoming&) override { ++received_messages; }
  void noted(comm::Rank, comm::MessageTag, const comm::Note& note) override {
    ++notes;
    last_note = note;
  }
  void lost(comm::Rank, const Error& error) override {
    ++losses;
    failure = error;
  }
  void warned(const std::string& sentence) override { warnings.push_back(sentence); }
  void on_question(comm::Rank, std::span<const std::byte>) override { ++questions; }
  void on_answer(comm::Rank, std::span<const std::byte>) override {}
  void on_abort(comm::Rank, std::span<const std::byte> reason) override {
    abort.assign(reason.begin(), reason.end());
  }

  /// Returns why a peer was lost; empty if none was.
  std::string loss() const { return failure ? failure->what() : ""; }

  /// Returns the text of the last abort notice, without its kind and culprit; empty if none has
  /// come.
  std::string abort_text() const {
    if (abort.empty()) return "";
    return std::string(reinterpret_cast<const char*>(abort.data()), abort.size()).substr(5);
  }

  int sent_messages = 0;
  int received_messages = 0;
  int notes = 0;
  int questions = 0;
  comm::Note last_note{};
  int losses = 0;
  std::optional<Error> failure;  ///< The last loss.
  std::vector<std::string> warnings;
  std::vector<std::byte> abort;  ///< The last abort notice.
};

}  // namespace fastgpu::test
