#include "comm/gradients/encoded_sum.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "comm/fusion/fingerprint.hpp"
#include "comm/kernels/convert.hpp"
#include "comm/kernels/kernels.hpp"
#include "comm/kernels/reduce.hpp"

namespace fastgpu::comm {
namespace {

constexpr Reduction kSum{ElementType::float32, ReduceOp::sum};

[[noreturn]] void refuse_codes(const Error& e, const CodeLevels& levels, std::size_t sender) {
  const Error named =
      e.during("rank " + std::to_string(levels.senders[sender].value) + " has sent");
  levels.all->give_up(named);
  throw Error(named);
}

void subtract(std::span<float> values, std::span<const float> others) noexcept {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] -= others[i];
}

/// Waits for a call that was begun, if any.
void wait_for(std::optional<Handle>& handle) {
  if (!handle) return;
  handle->wait();
  handle.reset();
}

}  // namespace

CodeLevels code_levels_of(Communicator& all, ReductionLevels& levels) {
  CodeLevels codes{.all = &all};
  if (!levels.across) {
    codes.across = &levels.inside;
    for (int rank = 0; rank < all.size(); ++rank)
      codes.senders.push_back({rank});
    return codes;
  }
  codes.inside = &levels.inside;
  codes.across = &*levels.across;
  const auto place = static_cast<std::size_t>(levels.inside.rank().value);
  for (const auto& node : all.topology().nodes)
    codes.senders.push_back(node[place]);
  std::ranges::sort(codes.senders);
  return codes;
}

std::vector<CodePart> code_parts_of(const Bucket& bucket, const Codec& codec, std::size_t at,
                                    std::size_t count, std::size_t parts) {
  std::vector<CodePart> all;
  const std::size_t longest = (count + parts - 1) / parts;
  for (std::size_t i = 0; i < parts; ++i) {
    const std::size_t begin = std::min(i * longest, count);
    CodePart part{.at = at + begin, .count = std::min(longest, count - begin)};
    for (const GradientPiece& piece : bucket.pieces) {
      const std::size_t piece_at = (piece.offset - bucket.offset) / sizeof(float);
      const std::size_t from = std::max(piece_at, part.at);
      const std::size_t to = std::min(piece_at + piece.count, part.at + part.count);
      if (from >= to) continue;
      part.runs.push_back(
          {piece.gradient, piece.first + (from - piece_at), from, to - from, part.bytes});
      part.bytes += codec.encoded_bytes(to - from);
    }
    all.push_back(std::move(part));
  }
  return all;
}

std::uint64_t seed_of_step(std::uint64_t step, Rank self, std::uint64_t stage) noexcept {
  return Fingerprint().add(step).add(static_cast<std::uint64_t>(self.value) << 1U | stage).value();
}

std::uint64_t chance_of(const CodeRun& run) noexcept {
  return Fingerprint().add(std::uint64_t{run.gradient.value}).add(std::uint64_t{run.first}).value();
}

void check_codes(const Codec& codec, const CodePart& part, std::span<const std::byte> code,
                 const CodeLevels& levels, std::size_t sender) {
  try {
    for (const CodeRun& run : part.runs)
      codec.check(code.subspan(run.code, codec.encoded_bytes(run.count)), run.count);
  } catch (const Error& e) {
    refuse_codes(e, levels, sender);
  }
}

EncodedSum::EncodedSum(EncodedForm form, const CodeLevels& levels, const Bucket& bucket,
                       std::span<float> numbers)
    : form_(form), levels_(&levels), bucket_(&bucket), numbers_(numbers) {
  const bool has_levels = levels_->inside != nullptr;
  const auto places = has_levels ? static_cast<std::size_t>(levels_->inside->size()) : 1;
  place_ = has_levels ? static_cast<std::size_t>(levels_->inside->rank().value) : 0;
  block_ = numbers_.size() / places;
  rest_ = numbers_.subspan(block_ * places);
  const bool is_shared = form_.is_dense && ranks() > 2;
  parts_ = code_parts_of(*bucket_, *form_.codec, place_ * block_, block_, is_shared ? ranks() : 1);
  for (const CodePart& part : parts_)
    code_bytes_ = std::max(code_bytes_, part.bytes);
  if (has_levels || form_.has_feedback) values_.resize(block_);
  for (const CodeRun& run : parts_.front().runs)
    if (has_memory())
      memories_.push_back(
          {run.first, group(), std::vector<float>(run.count), std::vector<float>(run.count)});
  codes_.resize(ranks() * code_bytes_);
  if (!is_encoded_again()) return;
  out_.resize(ranks() * code_bytes_);
  if (form_.has_feedback) sums_.resize(parts_.front().count);
}

std::size_t EncodedSum::encoded_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const CodePart& part : parts_)
    bytes += part.bytes;
  const auto places = block_ == 0 ? 0 : (numbers_.size() - rest_.size()) / block_;
  return bytes * places + rest_.size_bytes();
}

std::uint64_t EncodedSum::seed_of(const CodeRun& run, std::uint64_t stage) const noexcept {
  return seed_of_step(step_, levels_->all->rank(), stage) ^ chance_of(run);
}

void EncodedSum::begin(ReduceOp op, std::uint64_t step) {
  op_ = op;
  step_ = step;
  is_sent_ = false;
  if (levels_->inside == nullptr) {
    if (!values_.empty()) std::ranges::copy(slice(), values_.begin());
    return encode_and_send();
  }
  if (!rest_.empty())
    rest_sum_.emplace(
        levels_->all->start_all_reduce(std::as_writable_bytes(rest_), {ElementType::float32, op_}));
  if (block_ == 0) return;
  const std::span<float> blocks = numbers_.first(numbers_.size() - rest_.size());
  in_node_.emplace(levels_->inside->start_reduce_scatter(
      std::as_bytes(blocks), std::as_writable_bytes(std::span(values_)), kSum));
}

bool EncodedSum::reduce_in_node_if_complete() {
  if (!is_sent_ && in_node_ && !in_node_->test()) return false;
  reduce_in_node();
  return true;
}

void EncodedSum::reduce_in_node() {
  if (is_sent_) return;
  wait_for(in_node_);
  encode_and_send();
}

void EncodedSum::encode_and_send() {
  is_sent_ = true;
  if (code_bytes_ == 0) return;
  if (is_encoded_again()) {
    for (std::size_t i = 0; i < parts_.size(); ++i)
      encode(parts_[i], code_at(out_, i));
    exchange_.emplace(levels_->across->start_all_to_all(out_, codes_));
    return;
  }
  const std::span<std::byte> mine =
      code_at(codes_, static_cast<std::size_t>(levels_->across->rank().value));
  encode(parts_.front(), mine);
  exchange_.emplace(levels_->across->start_all_gather(mine, codes_));
}

void EncodedSum::encode(const CodePart& part, std::span<std::byte> code) {
  const std::span<float> source = values_.empty() ? slice() : std::span(values_);
  auto memory = memories_.begin();
  for (const CodeRun& run : part.runs) {
    const auto values = source.subspan(run.at - place_ * block_, run.count);
    if (has_memory()) subtract(values, (memory++)->own);
    const auto bytes = code.subspan(run.code, form_.codec->encoded_bytes(run.count));
    if (form_.has_feedback)
      form_.codec->encode_with_feedback(bytes, values, seed_of(run, 0));
    else
      form_.codec->encode(bytes, values, seed_of(run, 0));
  }
}

/// Sets the numbers of a part to what `reduction` makes of so many codes: that of `sender`, and of
/// the ranks behind it.
void EncodedSum::add_up(const CodePart& part, std::size_t sender, std::size_t codes,
                        Reduction reduction) {
  const auto numbers = numbers_.subspan(part.at, part.count);
  if (!form_.codec->has_ranges()) {
    std::ranges::fill(numbers, 0.0F);
    for (std::size_t i = 0; i < memories_.size(); ++i)
      std::ranges::copy(memories_[i].sum, numbers_.subspan(part.runs[i].at).begin());
    for (std::size_t i = 0; i < codes; ++i)
      add(part, sender + i);
    return finish(std::as_writable_bytes(numbers), reduction, levels_->all->size());
  }
  std::size_t done = part.at;
  for (const CodeRun& run : part.runs) {
    std::ranges::fill(numbers_.subspan(done, run.at - done), 0.0F);
    for (std::size_t first = 0; first < run.count; first += kCodeRange) {
      const auto range = numbers_.subspan(run.at + first, std::min(kCodeRange, run.count - first));
      std::ranges::fill(range, 0.0F);
      for (std::size_t i = 0; i < codes; ++i)
        form_.codec->add_range(range, code_of(run, sender + i), run.count, first);
      finish(std::as_writable_bytes(range), reduction, levels_->all->size());
    }
    done = run.at + run.count;
  }
  std::ranges::fill(numbers.subspan(done - part.at), 0.0F);
}

void EncodedSum::add(const CodePart& part, std::size_t sender) {
  try {
    for (const CodeRun& run : part.runs)
      form_.codec->add(numbers_.subspan(run.at, run.count), code_of(run, sender), 1);
  } catch (const Error& e) {
    refuse_codes(e, *levels_, sender);
  }
}

void EncodedSum::reduce_across_nodes() {
  if (code_bytes_ == 0 || !is_encoded_again()) return;
  wait_for(exchange_);
  const auto self = static_cast<std::size_t>(levels_->across->rank().value);
  const CodePart& part = parts_[self];
  add_up(part, 0, ranks(), kSum);
  const std::span<std::byte> mine = code_at(codes_, self);
  encode_sum(part, mine);
  exchange_.emplace(levels_->across->start_all_gather(mine, codes_));
}

/// Encodes this rank's sums. With feedback, this rank adds what the code does not carry to its own
/// share of the next step's.
void EncodedSum::encode_sum(const CodePart& part, std::span<std::byte> code) {
  for (const CodeRun& run : part.runs) {
    const auto sums = numbers_.subspan(run.at, run.count);
    const auto bytes = code.subspan(run.code, form_.codec->encoded_bytes(run.count));
    if (!form_.has_feedback) {
      form_.codec->encode(bytes, sums, seed_of(run, 1));
      continue;
    }
    const auto rest = std::span(sums_).subspan(run.at - part.at, run.count);
    std::ranges::copy(sums, rest.begin());
    form_.codec->encode_with_feedback(bytes, rest, seed_of(run, 1));
    const auto residuals = std::span(values_).subspan(run.at - place_ * block_, run.count);
    reduce_into(std::as_writable_bytes(residuals), std::as_bytes(rest), kSum);
  }
}

void EncodedSum::broadcast_in_node() {
  wait_for(exchange_);
  const Reduction reduction{ElementType::float32, op_};
  if (!is_encoded_again()) add_up(parts_.front(), 0, ranks(), reduction);
  for (std::size_t rank = 0; is_encoded_again() && rank < ranks(); ++rank)
    add_up(parts_[rank], rank, 1, reduction);
  if (levels_->inside == nullptr || block_ == 0) return;
  const std::span<float> blocks = numbers_.first(numbers_.size() - rest_.size());
  in_node_.emplace(
      levels_->inside->start_all_gather(std::as_bytes(slice()), std::as_writable_bytes(blocks)));
}

void EncodedSum::wait() {
  wait_for(in_node_);
  wait_for(rest_sum_);
}

/// Adds a part of the codes of this step to the memories of gradients that are in `applied`.
void EncodedSum::remember(const GradientSet& applied) {
  const auto self = static_cast<std::size_t>(levels_->across->rank().value);
  const auto non_finite = first_non_finite(std::as_bytes(slice()), ElementType::float32);
  for (std::size_t i = 0; i < memories_.size(); ++i) {
    const CodeRun& run = parts_.front().runs[i];
    if (!applied.contains(run.gradient)) continue;
    CodeMemory& memory = memories_[i];
    form_.codec->add(memory.own, code_of(run, self), form_.memory);
    for (std::size_t rank = 0; rank < ranks(); ++rank)
      form_.codec->add(memory.sum, code_of(run, rank), form_.memory);
    if (!non_finite) continue;
    kernels().drop_non_finite(memory.own.data(), run.count);
    kernels().drop_non_finite(memory.sum.data(), run.count);
  }
}

/// Returns a number of the ranks whose memories must be alike.
std::uint64_t EncodedSum::group() const noexcept {
  Fingerprint ranks;
  for (const Rank rank : levels_->senders)
    ranks.add(static_cast<std::uint32_t>(rank.value));
  return ranks.value();
}

void EncodedSum::save_residuals(CodecState& state) const {
  for (std::size_t i = 0; i < memories_.size(); ++i)
    state.keep_memory(parts_.front().runs[i].gradient, memories_[i]);
}

void EncodedSum::load_residuals(const CodecState& state) {
  for (std::size_t i = 0; i < memories_.size(); ++i) {
    CodeMemory& memory = memories_[i];
    const CodeMemory* const kept = state.memory_like(parts_.front().runs[i].gradient, memory);
    if (kept != nullptr) {
      memory = *kept;
    } else {
      std::ranges::fill(memory.own, 0.0F);
      std::ranges::fill(memory.sum, 0.0F);
    }
  }
}

void EncodedSum::keep_residuals(CodecState& state, const GradientSet& applied) {
  if (has_memory()) remember(applied);
  if (!form_.has_feedback) return;
  const std::size_t slice_at = place_ * block_;
  for (const GradientPiece& piece : bucket_->pieces) {
    if (!applied.contains(piece.gradient)) continue;
    const std::size_t piece_at = (piece.offset - bucket_->offset) / sizeof(float);
    const std::size_t from = std::max(piece_at, slice_at);
    const std::size_t to = std::min(piece_at + piece.count, slice_at + block_);
    const std::span<const float> kept = from < to
                                            ? std::span(values_).subspan(from - slice_at, to - from)
                                            : std::span<const float>();
    state.replace(piece, from < to ? piece.first + (from - piece_at) : piece.first, kept);
  }
}

}  // namespace fastgpu::comm
