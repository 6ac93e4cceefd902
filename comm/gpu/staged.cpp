#include "comm/gpu/staged.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"

namespace fastgpu::comm::gpu {
namespace {

/// One chunk on its way here, one between the ranks, one on its way back, one to spare.
constexpr std::size_t kSlots = 4;

bool is_floating(ElementType type) {
  switch (type) {
    case ElementType::float32:
    case ElementType::float64:
    case ElementType::float16:
    case ElementType::bfloat16:
      return true;
    case ElementType::int32:
    case ElementType::int64:
    case ElementType::int8:
    case ElementType::uint8:
      return false;
  }
  return false;
}

const StagedAllReduce::Settings& checked(const StagedAllReduce::Settings& settings) {
  const bool is_known =
      is_possible({settings.type, settings.wire}) && is_possible({settings.wire, settings.type});
  if (!is_known)
    throw Error(ErrorKind::usage, std::string(name_of(settings.type)) + " cannot travel as " +
                                      std::string(name_of(settings.wire)));
  if (settings.chunk_bytes == 0 || settings.chunk_bytes % size_of(settings.wire) != 0)
    throw Error(ErrorKind::usage, "chunks of " + std::to_string(settings.chunk_bytes) +
                                      " bytes hold no whole number of " +
                                      std::string(name_of(settings.wire)));
  return settings;
}

}  // namespace

StagedAllReduce::StagedAllReduce(std::span<const Tensor> tensors, const Settings& settings)
    : settings_(checked(settings)),
      tensors_(tensors),
      wire_(packed_bytes(tensors_, settings.wire)),
      found_(tensors.size()),
      chunks_((wire_.span().size() + settings.chunk_bytes - 1) / settings.chunk_bytes) {
  const std::size_t bytes = std::min(settings.chunk_bytes, wire_.span().size());
  for (std::size_t i = 0; i < std::min(kSlots, chunks_); ++i)
    slots_.emplace_back(bytes);
}

/// Copies that are under way must not meet memory that is gone.
StagedAllReduce::~StagedAllReduce() {
  for (const Stream* const stream : {&down_, &up_}) {
    try {
      stream->synchronize();
    } catch (const Error&) {  // A device that has failed copies nothing any more.
    }
  }
}

std::optional<NonFinite> StagedAllReduce::run(ReduceOp op, int ranks,
                                              const HostAllReduce& all_reduce,
                                              StreamHandle stream) {
  const bool is_prescaled = op == ReduceOp::average && is_floating(settings_.type);
  const double scale = is_prescaled ? 1.0 / ranks : 1;
  const Reduction reduction{settings_.wire, is_prescaled ? ReduceOp::sum : op};

  ready_.record(stream);
  wait_for(down_.handle(), ready_);
  wait_for(down_.handle(), done_);  // Of the run before, which may have been told another stream.
  pack_checked(wire_.span(), tensors_, {settings_.type, settings_.wire, scale}, found_,
               down_.handle());
  found_.fetch(down_.handle());
  exchange(reduction, all_reduce);
  unpack(tensors_, wire_.span(), {settings_.wire, settings_.type}, up_.handle());
  done_.record(up_.handle());
  wait_for(stream, done_);
  down_.synchronize();
  return found_.first();
}

std::span<std::byte> StagedAllReduce::chunk(std::size_t number) const {
  const std::size_t begin = number * settings_.chunk_bytes;
  return wire_.span().subspan(begin, std::min(settings_.chunk_bytes, wire_.span().size() - begin));
}

void StagedAllReduce::fetch(std::size_t number) {
  Slot& slot = slots_[number % slots_.size()];
  const auto part = chunk(number);
  if (number >= slots_.size()) wait_for(down_.handle(), slot.left);
  copy_async(slot.memory.span().first(part.size()), part, down_.handle());
  slot.arrived.record(down_.handle());
}

void StagedAllReduce::put_back(std::size_t number) {
  Slot& slot = slots_[number % slots_.size()];
  const auto part = chunk(number);
  copy_async(part, slot.memory.span().first(part.size()), up_.handle());
  slot.left.record(up_.handle());
}

void StagedAllReduce::exchange(Reduction reduction, const HostAllReduce& all_reduce) {
  for (std::size_t number = 0; number < slots_.size(); ++number)
    fetch(number);
  for (std::size_t number = 0; number < chunks_; ++number) {
    Slot& slot = slots_[number % slots_.size()];
    slot.arrived.synchronize();
    all_reduce(slot.memory.span().first(chunk(number).size()), reduction);
    put_back(number);
    if (number + slots_.size() < chunks_) fetch(number + slots_.size());
  }
}

}  // namespace fastgpu::comm::gpu
