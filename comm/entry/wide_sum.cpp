#include "comm/entry/wide_sum.hpp"

#include <vector>

#include "comm/kernels/convert.hpp"

namespace fastgpu::comm {

WideSum::WideSum(Communicator& communicator, std::span<std::byte> data, ElementType type)
    : communicator_(communicator), type_(type) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const std::size_t block = data.size() / size_of(type) / ranks * size_of(type);
  blocks_ = data.first(block * ranks);
  tail_ = data.subspan(blocks_.size());
  memory_ = std::make_unique<std::byte[]>(blocks_.size() + tail_.size() * ranks);
  block_rows_ = {memory_.get(), blocks_.size()};
  tail_rows_ = {memory_.get() + blocks_.size(), tail_.size() * ranks};
  exchange_.emplace(communicator.start_all_to_all(blocks_, block_rows_));
  tails_.emplace(communicator.start_all_gather(tail_, tail_rows_));
}

void WideSum::add_up() {
  const std::size_t block = blocks_.size() / static_cast<std::size_t>(communicator_.size());
  const auto self = static_cast<std::size_t>(communicator_.rank().value);
  const std::span<std::byte> mine = blocks_.subspan(self * block, block);
  exchange_->wait();
  add_rows(mine, block_rows_);
  sums_.emplace(communicator_.start_all_gather(mine, blocks_));
  tails_->wait();
  add_rows(tail_, tail_rows_);
}

void WideSum::add_rows(std::span<std::byte> to, std::span<const std::byte> rows) const {
  std::vector<float> sum(to.size() / size_of(type_));
  const std::span<std::byte> wide = std::as_writable_bytes(std::span(sum));
  for (std::size_t at = 0; at < rows.size(); at += to.size())
    convert_and_add(wide, rows.subspan(at, to.size()), {type_, ElementType::float32});
  convert(to, wide, {ElementType::float32, type_});
}

}  // namespace fastgpu::comm
