#include "comm/gradients/planned_order.hpp"

#include <utility>

#include "comm/fusion/fusion.hpp"
#include "comm/gradients/agree.hpp"
#include "comm/gradients/saved_gradients.hpp"

namespace fastgpu::comm {

std::uint64_t PlannedOrder::loaded_fingerprint() const {
  return fingerprint_of(order_of_names(table_, loaded_));
}

void PlannedOrder::begin(Communicator& communicator, bool is_same_on_all_ranks) {
  auto order = order_of_names(table_, loaded_);
  if (!is_same_on_all_ranks) order = saved_order_of_rank_0(communicator, table_, order);
  is_known_ = order.has_value();
  gradients_ = std::move(order).value_or(initial_order(table_));
  loaded_.reset();
}

bool PlannedOrder::take(const Names& names) {
  auto order = order_of_names(table_, names);
  is_known_ = order.has_value();
  if (!order) order = initial_order(table_);
  if (*order == gradients_) return false;
  gradients_ = std::move(*order);
  return true;
}

bool PlannedOrder::learn(Communicator& control, const std::vector<GradientId>& mine) {
  if (is_known_) return false;
  is_known_ = true;
  gradients_ = order_of_rank_0(control, table_, mine);
  return true;
}

PlannedOrder::Names PlannedOrder::names() const {
  return is_known_ ? names_in_order(table_, gradients_) : loaded_;
}

std::uint64_t PlannedOrder::fingerprint() const {
  return is_known_ ? fingerprint_of(gradients_) : fingerprint_of(std::nullopt);
}

}  // namespace fastgpu::comm
