#include "comm/gradients/gradient_codec.hpp"

#include <utility>

namespace fastgpu::comm {

void GradientCodec::begin(Exchange exchange) {
  if (exchange == Exchange::gather || exchange == Exchange::factors)
    encoded_ = encoded_gradients(table_, settings_);
  moved_ = moved_gradients(table_, settings_);
}

void GradientCodec::make_sums(const Parts& parts) {
  drop_sums();
  strength_ = strength_at(settings_.codec, state_.steps());
  if (!parts.factor_streams.empty()) {
    sums_.emplace(table_, settings_, parts.plan, parts.buffer, parts.streams, parts.factor_streams,
                  state_);
  } else {
    const CodecChoice choice = strength_.value_or(settings_.codec);
    codec_ = make_codec(choice);
    const CodecEntry& entry = entry_of(choice.id);
    // Velocities and memories are kept on the host.
    const bool stays = settings_.codec.momentum == 0 && settings_.codec.memory == 0;
    const EncodedForm form{.codec = codec_.get(),
                           .is_dense = entry.is_dense,
                           .has_feedback = entry.has_feedback,
                           .memory = static_cast<float>(settings_.codec.memory)};
    sums_.emplace(form, parts.plan, parts.buffer, parts.streams, parts.levels,
                  EncodedBuckets::OnDevice{stays ? parts.device : nullptr, choice});
    sums_->load_residuals(state_);
    state_.drop_memories();
  }
  sums_->use(strength_.has_value());
}

void GradientCodec::drop_sums() {
  if (sums_) sums_->save_residuals(state_);
  sums_.reset();
}

bool GradientCodec::has_outgrown_sums() const {
  return sums_ && settings_.codec.warmup != 0 &&
         strength_ != strength_at(settings_.codec, state_.steps());
}

void GradientCodec::add_state(const GradientPiece& piece, std::span<std::byte> numbers,
                              ReduceOp op) {
  const std::size_t id = piece.gradient.value;
  if (op != ReduceOp::sum && op != ReduceOp::average) return;
  // A residual waits until there are codes that can leave out a part of it.
  const bool is_encoded = !encoded_.empty() && encoded_[id] && strength_;
  if (!is_encoded && !moved_[id]) return;
  const std::span<float> values(reinterpret_cast<float*>(numbers.data()), piece.count);
  if (moved_[id])
    state_.add_velocity(piece.gradient, table_.elements(piece.gradient), piece.first, values,
                        static_cast<float>(settings_.codec.momentum));
  if (is_encoded) state_.add_to(piece.gradient, piece.first, values);
}

void GradientCodec::keep_residuals(std::size_t bucket, const GradientSet& applied, ReduceOp op) {
  if (sums_ && sums_->has(bucket, op)) (*sums_)[bucket].keep_residuals(state_, applied);
}

/// Returns what `use` does with the state, to which what the sums remember is added meanwhile.
template <class Use>
auto GradientCodec::with_whole_state(Use use) {
  if (sums_) sums_->save_residuals(state_);
  auto used = use(state_);
  if (sums_) state_.drop_memories();
  return used;
}

std::size_t GradientCodec::saved_bytes() {
  return with_whole_state([&](const CodecState& state) { return state.saved_bytes(table_); });
}

std::vector<std::byte> GradientCodec::saved(Rank rank, int ranks) {
  return with_whole_state(
      [&](const CodecState& state) { return state.saved(table_, rank, ranks); });
}

CodecState GradientCodec::decoded(std::span<const std::byte> saved, Rank rank, int ranks) const {
  CodecState state;
  state.load(saved, table_, rank, ranks);
  return state;
}

void GradientCodec::take(CodecState&& state) {
  state_ = std::move(state);
  if (settings_.codec.memory == 0) state_.drop_memories();
  const bool has_feedback =
      settings_.wire == WireType::encoded && entry_of(settings_.codec.id).has_feedback;
  const std::vector<bool> encoded = encoded_gradients(table_, settings_);
  const std::vector<bool> moved = moved_gradients(table_, settings_);
  for (std::size_t i = 0; i < table_.size(); ++i) {
    if (!has_feedback || !encoded[i]) state_.drop({i});
    if (!moved[i]) state_.drop_velocity({i});
  }
  if (!sums_) return;
  sums_->load_residuals(state_);
  state_.drop_memories();
}

}  // namespace fastgpu::comm
