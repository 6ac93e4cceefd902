#include "comm/multistep/tensor.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/names.hpp"
#include "comm/kernels/convert.hpp"

namespace fastgpu::comm {
namespace {

ElementType work_type_of(const GradientInfo& info) {
  switch (info.type) {
    case ElementType::float32:
    case ElementType::float16:
    case ElementType::bfloat16:
      return ElementType::float32;
    case ElementType::float64:
      return ElementType::float64;
    case ElementType::int32:
    case ElementType::int64:
    case ElementType::int8:
    case ElementType::uint8:
      break;
  }
  throw Error(ErrorKind::usage, "'" + printable(info.name) + "' has elements of type " +
                                    std::string(name_of(info.type)) +
                                    ": multistep training averages floating-point numbers");
}

}  // namespace

MultistepTensor::MultistepTensor(GradientInfo info, std::span<std::byte> values)
    : info_(std::move(info)), work_type_(work_type_of(info_)), values_(values) {
  const std::size_t bytes = elements_of(info_) * size_of(info_.type);
  if (values.size() != bytes)
    throw Error(ErrorKind::usage, "'" + printable(info_.name) + "' has " + std::to_string(bytes) +
                                      " bytes, but memory of " + std::to_string(values.size()));
  work_.resize(elements_of(info_) * size_of(work_type_));
}

GradientInfo MultistepTensor::work_info() const {
  GradientInfo info = info_;
  info.type = work_type_;
  return info;
}

void MultistepTensor::accumulate(double weight) {
  convert_and_add(work_, values_, {info_.type, work_type_, weight});
  clear_values();
}

void MultistepTensor::scale_work(double factor) {
  if (factor != 1) convert(work_, work_, {work_type_, work_type_, factor});
}

void MultistepTensor::deliver(double factor) {
  convert(values_, work_, {work_type_, info_.type, factor});
  clear();
}

void MultistepTensor::clear() noexcept {
  std::ranges::fill(work_, std::byte{0});
}

void MultistepTensor::swap(double out, double in) {
  const std::vector<std::byte> results = work_;
  convert(work_, values_, {info_.type, work_type_, in});
  convert(values_, results, {work_type_, info_.type, out});
}

void MultistepTensor::clear_values() noexcept {
  std::ranges::fill(values_, std::byte{0});
}

void MultistepTensor::remember(bool has_momentum) {
  anchor_.resize(work_.size());
  if (has_momentum) momentum_.resize(work_.size());
  convert(anchor_, values_, {info_.type, work_type_});
}

void MultistepTensor::measure_move(double factor) {
  convert(work_, anchor_, {work_type_, work_type_});
  convert_and_add(work_, values_, {info_.type, work_type_, -1});
  scale_work(factor);
}

void MultistepTensor::apply_move(double factor, const OuterRate& rate) {
  scale_work(factor);
  outer_step(anchor_, momentum_, work_, work_type_, rate);
  go_back();
}

void MultistepTensor::go_back() {
  convert(values_, anchor_, {work_type_, info_.type});
}

bool MultistepTensor::is_finite() const {
  return !first_non_finite(values_, info_.type);
}

}  // namespace fastgpu::comm
