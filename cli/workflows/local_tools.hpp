// This machine's clock and key generator, and the reports of an operation, for provision::Tools.
#pragma once

#include <chrono>
#include <string_view>

#include "base/clock.hpp"
#include "cli/workflows/services.hpp"
#include "provision/tools.hpp"

namespace fastgpu::cli {

/// The steady clock. A sleep ends early when the user asks to stop.
class SystemClock final : public Clock {
 public:
  explicit SystemClock(const Cancel& cancel) : cancel_(cancel) {}
  time_point now() const noexcept override { return std::chrono::steady_clock::now(); }
  void sleep(std::chrono::milliseconds duration) override;

 private:
  const Cancel& cancel_;
};

class SshKeyMaker final : public provision::KeyMaker {
 public:
  KeyPair make(std::string_view comment) override;
};

/// Reports the steps of an operation, and how many nodes are ready, as progress.
class ProgressEvents final : public provision::ClusterEvents {
 public:
  explicit ProgressEvents(Messages& messages) : messages_(messages) {}
  void step_started(std::string_view step) override;
  void step_finished(std::string_view step) override;
  void asking(std::string_view what) override;
  void asked() override;
  void moving_on(std::string_view reason) override;
  void replacing(std::string_view reason) override;
  void shrunk(std::size_t wanted, std::size_t got) override;
  void left_behind(std::string_view sentence) override;
  void network_shared(std::string_view sentence) override { left_behind(sentence); }

 private:
  Messages& messages_;
};

}  // namespace fastgpu::cli
