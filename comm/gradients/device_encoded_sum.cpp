#include "comm/gradients/device_encoded_sum.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "base/error.hpp"

namespace fastgpu::comm {

DeviceEncodedSum::DeviceEncodedSum(const CodecChoice& codec, EncodedForm form,
                                   const CodeLevels& levels, const Bucket& bucket,
                                   std::uint32_t number, DeviceGradients& gradients)
    : form_(form),
      levels_(&levels),
      bucket_(&bucket),
      number_(number),
      gradients_(gradients),
      device_(gradients.device()),
      stream_(gradients.stream()),
      wire_(gradients.wire_of(number)),
      done_(gpu::event_of(device_)) {
  const std::size_t count = wire_.size() / sizeof(float);
  const bool is_shared = form_.is_dense && ranks() > 2;
  parts_ = code_parts_of(bucket, *form_.codec, 0, count, is_shared ? ranks() : 1);
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    code_bytes_ = std::max(code_bytes_, parts_[i].bytes);
    lists_.push_back(prepared(codec, std::array{i}, 0));
    all.push_back(i);
  }
  all_ = prepared(codec, all, 0);
  host_codes_.resize(ranks() * code_bytes_);
  pinned_codes_.emplace(device_, host_codes_);
  codes_.emplace(device_, host_codes_.size());
  out_.emplace(device_, parts_.size() * code_bytes_);
  // Codes of unequal parts have gaps behind them.
  on_device([this] { device_.clear(out_->span(), stream_); });
  if (is_encoded_again()) {
    host_out_.resize(ranks() * code_bytes_);
    pinned_out_.emplace(device_, host_out_);
  }
  if (!form_.has_feedback) return;
  values_.emplace(device_, wire_.size());
  kept_.emplace(device_, wire_.size());
  if (!is_encoded_again()) return;
  const CodePart& mine = parts_[self()];
  sums_.emplace(device_, mine.count * sizeof(float));
  of_sums_ = prepared(codec, std::array{self()}, mine.at);
}

DeviceEncodedSum::~DeviceEncodedSum() {
  try {
    device_.synchronize(done_.get());
  } catch (const Error&) {
    return;  // A device that has failed does nothing any more.
  }
}

/// Returns the list of parts, of which the numbers begin `before` elements after those of the
/// bucket. Each part's code follows that of the part before.
DeviceEncodedSum::Codes DeviceEncodedSum::prepared(const CodecChoice& codec,
                                                   std::span<const std::size_t> parts,
                                                   std::size_t before) const {
  std::vector<gpu::CodeStretch> stretches;
  for (std::size_t i = 0; i < parts.size(); ++i)
    for (const CodeRun& run : parts_[parts[i]].runs)
      stretches.push_back({run.at - before, run.count, i * code_bytes_ + run.code, chance_of(run)});
  return device_.prepare(codec, stretches);
}

/// Runs `action`. A refusal of the device ends the job, on all ranks.
template <class Action>
void DeviceEncodedSum::on_device(Action action) const {
  try {
    action();
    device_.record(done_.get(), stream_);
  } catch (const Error& e) {
    levels_->all->give_up(e);
    throw;
  }
}

std::size_t DeviceEncodedSum::encoded_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const CodePart& part : parts_)
    bytes += part.bytes;
  return bytes;
}

void DeviceEncodedSum::begin(ReduceOp op, std::uint64_t step) {
  op_ = op;
  step_ = step;
  is_sent_ = false;
  on_device([&] {
    gradients_.clear_missing(number_);
    if (form_.has_feedback) {
      device_.copy(values_->span(), wire_, stream_);
      device_.add(values_->span(), kept_->span(), stream_);
    }
    device_.encode(out_->span(), form_.has_feedback ? values_->span() : wire_, *all_,
                   seed_of_step(step_, levels_->all->rank(), 0), stream_);
    device_.copy(
        is_encoded_again() ? std::span(host_out_) : code_at(std::span(host_codes_), self()),
        out_->span(), stream_);
  });
}

bool DeviceEncodedSum::reduce_in_node_if_complete() {
  if (!is_sent_ && !device_.has_passed(done_.get())) return false;
  reduce_in_node();
  return true;
}

void DeviceEncodedSum::reduce_in_node() {
  if (is_sent_) return;
  on_device([this] { device_.synchronize(done_.get()); });
  is_sent_ = true;
  if (is_encoded_again())
    exchange_.emplace(levels_->across->start_all_to_all(host_out_, host_codes_));
  else
    send();
}

/// Sends this rank's code to all ranks.
void DeviceEncodedSum::send() {
  exchange_.emplace(
      levels_->across->start_all_gather(code_at(std::span(host_codes_), self()), host_codes_));
}

/// Waits for the codes of all ranks, and copies them to the device.
void DeviceEncodedSum::fetch_codes() {
  exchange_->wait();
  exchange_.reset();
  on_device([this] { device_.copy(codes_->span(), host_codes_, stream_); });
}

void DeviceEncodedSum::reduce_across_nodes() {
  fetch_codes();
  const std::size_t own = is_encoded_again() ? self() : 0;
  const CodePart& part = parts_[own];
  for (std::size_t rank = 0; rank < ranks(); ++rank)
    check_codes(*form_.codec, part, code_at(std::span<const std::byte>(host_codes_), rank),
                *levels_, rank);
  on_device([&] {
    device_.clear(wire_.subspan(part.at * sizeof(float), part.count * sizeof(float)), stream_);
    for (std::size_t rank = 0; rank < ranks(); ++rank)
      device_.add_codes(wire_, code_at(codes_->span(), rank), *lists_[own], stream_);
  });
  if (is_encoded_again()) encode_sum();
}

/// Encodes this rank's sums, as EncodedSum::encode_sum does, and sends them.
void DeviceEncodedSum::encode_sum() {
  const CodePart& part = parts_[self()];
  const std::span<std::byte> code = out_->span().first(code_bytes_);
  const std::uint64_t seed = seed_of_step(step_, levels_->all->rank(), 1);
  on_device([&] {
    if (form_.has_feedback) {
      const auto sums = wire_.subspan(part.at * sizeof(float), part.count * sizeof(float));
      device_.copy(sums_->span(), sums, stream_);
      device_.encode(code, sums_->span(), *of_sums_, seed, stream_);
      device_.add(numbers_of(*values_, part.at, part.count), sums_->span(), stream_);
    } else {
      device_.encode(code, wire_, *lists_[self()], seed, stream_);
    }
    device_.copy(code_at(std::span(host_codes_), self()), code, stream_);
  });
  on_device([this] { device_.synchronize(done_.get()); });
  send();
}

void DeviceEncodedSum::broadcast_in_node() {
  if (is_encoded_again()) {
    fetch_codes();
    for (std::size_t i = 0; i < parts_.size(); ++i)
      check_codes(*form_.codec, parts_[i], code_at(std::span<const std::byte>(host_codes_), i),
                  *levels_, i);
  }
  on_device([this] {
    if (is_encoded_again()) {
      device_.clear(wire_, stream_);
      for (std::size_t i = 0; i < parts_.size(); ++i)
        device_.add_codes(wire_, code_at(codes_->span(), i), *lists_[i], stream_);
    }
    device_.finish(wire_, op_, levels_->all->size(), stream_);
  });
}

void DeviceEncodedSum::keep_residuals(CodecState&, const GradientSet& applied) {
  if (!form_.has_feedback) return;
  on_device([&] {
    for (const GradientPiece& piece : bucket_->pieces) {
      if (!applied.contains(piece.gradient)) continue;
      const std::size_t at = (piece.offset - bucket_->offset) / sizeof(float);
      device_.copy(numbers_of(*kept_, at, piece.count), numbers_of(*values_, at, piece.count),
                   stream_);
    }
  });
}

void DeviceEncodedSum::save_residuals(CodecState& state) const {
  if (!form_.has_feedback) return;
  std::vector<float> kept(wire_.size() / sizeof(float));
  on_device([&] { device_.copy(std::as_writable_bytes(std::span(kept)), kept_->span(), stream_); });
  on_device([this] { device_.synchronize(done_.get()); });
  for (const GradientPiece& piece : bucket_->pieces) {
    const std::size_t at = (piece.offset - bucket_->offset) / sizeof(float);
    state.replace(piece, piece.first, std::span(kept).subspan(at, piece.count));
  }
}

void DeviceEncodedSum::load_residuals(const CodecState& state) {
  if (!form_.has_feedback) return;
  std::vector<float> kept(wire_.size() / sizeof(float), -0.0F);  // Changes no number: 0 is not -0.
  for (const GradientPiece& piece : bucket_->pieces) {
    const std::size_t at = (piece.offset - bucket_->offset) / sizeof(float);
    state.add_to(piece.gradient, piece.first, std::span(kept).subspan(at, piece.count));
  }
  on_device([&] { device_.copy(kept_->span(), std::as_bytes(std::span(kept)), stream_); });
  on_device([this] { device_.synchronize(done_.get()); });
}

}  // namespace fastgpu::comm
