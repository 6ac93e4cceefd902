#include "comm/gradients/bucket_streams.hpp"

#include <algorithm>
#include <iterator>

namespace fastgpu::comm {
namespace {

std::vector<Communicator> copies_of(Communicator& ranks, int count, const char* name) {
  std::vector<Communicator> copies;
  for (int i = 0; i < count; ++i)
    copies.emplace_back(*ranks.split(0, 0)).name_calls(name);
  return copies;
}

}  // namespace

BucketStreams::BucketStreams(Communicator& ranks, int streams, Exchange exchange)
    : all_(copies_of(ranks, streams, "a bucket of gradients")) {
  if (exchange == Exchange::mixed_precision_reduce || exchange == Exchange::gather)
    std::ranges::transform(all_, std::back_inserter(levels_), reduction_levels_of);
  if (exchange == Exchange::factors) factors_ = copies_of(ranks, streams, "factors of gradients");
}

void BucketStreams::use_plan(const AllReducePlan& plan) {
  for (Communicator& stream : all_)
    stream.use_plan(plan);
}

}  // namespace fastgpu::comm
