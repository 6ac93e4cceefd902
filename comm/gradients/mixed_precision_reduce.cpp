#include "comm/gradients/mixed_precision_reduce.hpp"

#include <algorithm>
#include <vector>

#include "comm/kernels/convert.hpp"

namespace fastgpu::comm {

bool has_two_levels(const Topology& topology) {
  const std::size_t ranks = topology.nodes.front().size();
  return topology.nodes.size() > 1 && ranks > 1 &&
         std::ranges::all_of(topology.nodes,
                             [&](const auto& node) { return node.size() == ranks; });
}

ReductionLevels reduction_levels_of(Communicator& ranks) {
  const Topology& topology = ranks.topology();
  if (!has_two_levels(topology)) return {*ranks.split(0, 0), std::nullopt};
  const int node = topology.node_of(ranks.rank());
  const auto& members = topology.nodes[static_cast<std::size_t>(node)];
  const auto place = std::ranges::find(members, ranks.rank()) - members.begin();
  Communicator inside = *ranks.split(node, 0);
  return {std::move(inside), ranks.split(static_cast<int>(place), 0)};
}

BlockSum::BlockSum(Communicator& communicator, std::span<std::byte> data, ElementType type)
    : communicator_(&communicator), type_(type) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const auto self = static_cast<std::size_t>(communicator.rank().value);
  const std::size_t block = data.size() / size_of(type) / ranks * size_of(type);
  blocks_ = data.first(block * ranks);
  block_ = blocks_.subspan(self * block, block);
  rest_ = data.subspan(blocks_.size());
  memory_ = std::make_unique<std::byte[]>(blocks_.size() + rest_.size() * ranks);
  block_rows_ = {memory_.get(), blocks_.size()};
  rest_rows_ = {memory_.get() + blocks_.size(), rest_.size() * ranks};
  blocks_to_add_.emplace(communicator.start_all_to_all(blocks_, block_rows_));
  rests_to_add_.emplace(communicator.start_all_gather(rest_, rest_rows_));
}

void BlockSum::reduce() {
  blocks_to_add_->wait();
  add_rows(block_, block_rows_);
  rests_to_add_->wait();
  add_rows(rest_, rest_rows_);
  memory_.reset();
}

void BlockSum::broadcast() {
  blocks_from_all_.emplace(communicator_->start_all_gather(block_, blocks_));
}

void BlockSum::add_rows(std::span<std::byte> to, std::span<const std::byte> rows) const {
  std::vector<float> sum(to.size() / size_of(type_));
  const std::span<std::byte> wide = std::as_writable_bytes(std::span(sum));
  for (std::size_t at = 0; at < rows.size(); at += to.size())
    convert_and_add(wide, rows.subspan(at, to.size()), {type_, ElementType::float32});
  convert(to, wide, {ElementType::float32, type_});
}

void MixedPrecisionReduce::reduce_in_node() {
  inside_.reduce();
  if (!levels_->across) return;
  across_.emplace(*levels_->across, inside_.block(), type_);
  rest_across_.emplace(*levels_->across, inside_.rest(), type_);
}

void MixedPrecisionReduce::reduce_across_nodes() {
  for (std::optional<BlockSum>* sum : {&across_, &rest_across_})
    if (*sum) {
      (*sum)->reduce();
      (*sum)->broadcast();
    }
}

void MixedPrecisionReduce::broadcast_in_node() {
  for (std::optional<BlockSum>* sum : {&across_, &rest_across_})
    if (*sum) (*sum)->wait();
  inside_.broadcast();
}

}  // namespace fastgpu::comm
