// An SSH client that notes which nodes answer.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "ssh/client.hpp"

namespace fastgpu::cli {

/// Passes everything on to another client. Where a host has a file for it (Host::silence_note),
/// notes there that the host could not be reached, and removes the note once it has answered.
class NotingClient final : public ssh::Client {
 public:
  /// `usual` is the client's limit for a connection. An attempt with a much shorter one says little
  /// about the host: it changes earlier notes alone.
  NotingClient(std::unique_ptr<ssh::Client> client, std::chrono::milliseconds usual)
      : client_(std::move(client)), usual_(usual) {}

  std::vector<HostResult<ssh::Exit>> run(std::vector<ssh::Task> tasks,
                                         const ssh::RunOptions& options,
                                         const Cancel& cancel) override;

 private:
  std::unique_ptr<ssh::Client> client_;
  std::chrono::milliseconds usual_;
};

}  // namespace fastgpu::cli
