#include "comm/engine/routes.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "comm/rendezvous/make_transports.hpp"

namespace fastgpu::comm {

Routes::Routes(Transports transports, int size)
    : to_(static_cast<std::size_t>(size)), control_(transports.control) {
  for (auto& transport : transports.all) {
    const TransportCapabilities capabilities = transport->capabilities();
    routes_.push_back({std::move(transport), capabilities});
  }
  for (std::size_t r = 0; r < to_.size(); ++r) {
    const Rank peer{static_cast<int>(r)};
    const auto route = std::ranges::find_if(
        routes_, [&](const EngineRoute& each) { return each.transport->reaches(peer); });
    if (route != routes_.end()) to_[r] = &*route;
  }
  for (const EngineRoute& route : routes_)
    if (Heap* const heap = route.transport->heap(); heap != nullptr && heap_ == &private_heap_)
      heap_ = heap;
}

bool Routes::may_sleep() {
  bool may_all = true;
  for (const EngineRoute& route : routes_)
    may_all = route.transport->may_sleep() && may_all;
  return may_all;
}

void Routes::woke() {
  for (const EngineRoute& route : routes_)
    route.transport->woke();
}

bool Routes::must_stay_awake() const {
  return std::ranges::any_of(routes_, [](const EngineRoute& route) {
    return route.capabilities.moves_only_when_called && route.transport->poll_descriptor() < 0 &&
           route.under_way > 0;
  });
}

bool Routes::needs_progress() const {
  return std::ranges::any_of(
      routes_, [](const EngineRoute& route) { return route.transport->needs_progress(); });
}

bool Routes::move_only_when_called() const {
  return std::ranges::any_of(
      routes_, [](const EngineRoute& route) { return route.capabilities.moves_only_when_called; });
}

bool Routes::are_quiet() const {
  return std::ranges::all_of(routes_,
                             [](const EngineRoute& route) { return route.transport->is_quiet(); });
}

void Routes::abandon() noexcept {
  for (const EngineRoute& route : routes_)
    route.transport->abandon();
}

int Routes::most_flows() const noexcept {
  int most = 1;
  for (const EngineRoute& route : routes_)
    most = std::max(most, route.capabilities.flows);
  return most;
}

void Routes::use_flows(int flows) {
  for (const EngineRoute& route : routes_)
    route.transport->use_flows(flows);
}

std::span<std::byte> Routes::allocate(std::size_t bytes) {
  const auto memory = heap_->allocate(bytes);
  try {
    for (const EngineRoute& route : routes_)
      route.transport->allocated(memory);
  } catch (const Error&) {
    free(memory.data());
    throw;
  }
  return memory;
}

void Routes::free(const std::byte* memory) {
  for (const EngineRoute& route : routes_)
    route.transport->freed(memory);
  heap_->free(memory);
}

std::string Routes::report_of_device_memory() const {
  for (const EngineRoute& route : routes_)
    if (std::string sentence = route.transport->report_of_device_memory(); !sentence.empty())
      return sentence;
  return {};
}

std::vector<LinkCounters> Routes::links() const {
  std::vector<LinkCounters> all;
  for (const EngineRoute& route : routes_)
    std::ranges::move(route.transport->links(), std::back_inserter(all));
  return all;
}

std::vector<int> Routes::descriptors() const {
  std::vector<int> all;
  for (const EngineRoute& route : routes_)
    std::ranges::copy(route.transport->descriptors(), std::back_inserter(all));
  return all;
}

std::vector<int> Routes::poll_descriptors() const {
  std::vector<int> all;
  for (const EngineRoute& route : routes_)
    if (const int polled = route.transport->poll_descriptor(); polled >= 0) all.push_back(polled);
  return all;
}

}  // namespace fastgpu::comm
