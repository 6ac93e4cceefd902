// Opens a fabric once more, in place of one that has failed.
#pragma once

#include <future>
#include <memory>
#include <string>

#include "comm/common/rank.hpp"
#include "comm/fabric/fabric_endpoint.hpp"
#include "comm/transports/meeting_transport.hpp"

namespace fastgpu::comm {

/// Opens a transport in a thread of its own. The destructor waits until that has ended.
class FabricSource final : public TransportSource {
 public:
  FabricSource(Rank self, int size, fabric::FabricSettings settings, std::string near);

  void request() override;
  bool is_busy() const override;
  std::unique_ptr<MeetingTransport> take() override;

 private:
  Rank self_;
  fabric::FabricSettings settings_;
  fabric::FabricSite site_;
  std::future<std::unique_ptr<MeetingTransport>> opened_;
};

}  // namespace fastgpu::comm
