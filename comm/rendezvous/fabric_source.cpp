#include "comm/rendezvous/fabric_source.hpp"

#include <chrono>
#include <exception>
#include <utility>

#include "comm/transports/fabric_transport.hpp"

namespace fastgpu::comm {

FabricSource::FabricSource(Rank self, int size, fabric::FabricSettings settings, std::string near)
    : self_(self), settings_(std::move(settings)), site_{size, std::move(near), self.value} {}

void FabricSource::request() {
  opened_ = std::async(std::launch::async, [this]() -> std::unique_ptr<MeetingTransport> {
    auto opened = fabric::open_endpoint(settings_, site_);
    if (!opened.endpoint) return nullptr;
    return std::make_unique<FabricTransport>(self_, site_.ranks, std::move(opened.endpoint));
  });
}

bool FabricSource::is_busy() const {
  return opened_.valid() &&
         opened_.wait_for(std::chrono::seconds(0)) == std::future_status::timeout;
}

std::unique_ptr<MeetingTransport> FabricSource::take() try {
  return opened_.valid() ? opened_.get() : nullptr;
} catch (const std::exception&) {
  return nullptr;  // The network does not work yet.
}

}  // namespace fastgpu::comm
