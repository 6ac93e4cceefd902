#include "comm/multistep/slice_exchange.hpp"

#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace fastgpu::comm {
namespace {

/// The beginning of the name of the header. The mode follows it: what the tuner has found is kept
/// for each mode.
constexpr std::string_view kHeaderName = "fastgpu_comm.round ";

GradientSettings settings_of_slice(GradientSettings settings, std::size_t slice,
                                   const MultistepSettings& mode) {
  if (!averages_gradients(mode.mode)) settings.content = GradientContent::moves;
  if (slice > 0) settings.timeline = settings.counters = "";
  return settings;
}

}  // namespace

SliceExchange::SliceExchange(Communicator& communicator, const GradientSettings& settings,
                             const MultistepSettings& mode, std::size_t slice,
                             GradientEvents* events)
    : exchange_(std::make_unique<GradientExchange>(
          communicator, settings_of_slice(settings, slice, mode), events)),
      header_(exchange_->add({.name = std::string(kHeaderName) + to_string(mode),
                              .type = ElementType::float64,
                              .shape = {sizeof(RoundHeader) / sizeof(double)}},
                             {})) {}

void SliceExchange::add(std::size_t number, MultistepTensor& tensor) {
  ids_.push_back(exchange_->add(tensor.work_info(), tensor.work()));
  tensors_.push_back(number);
}

void SliceExchange::compare() {
  exchange_->view(header_);
}

void SliceExchange::ready_all() {
  for (const GradientId id : ids_)
    exchange_->ready(id);
}

void SliceExchange::put(const RoundHeader& mine) {
  const std::span<std::byte> view = exchange_->view(header_);
  std::memcpy(view.data(), &mine, sizeof(mine));
  exchange_->ready(header_);
}

SliceExchange::Result SliceExchange::wait() {
  Result result{.step = exchange_->wait_step(), .average = {}};
  const std::span<const std::byte> view = exchange_->view(header_);
  std::memcpy(&result.average, view.data(), sizeof(result.average));
  return result;
}

}  // namespace fastgpu::comm
