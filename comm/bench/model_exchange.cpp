#include "comm/bench/model_exchange.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>

#include "base/error.hpp"
#include "comm/bench/bench_program.hpp"
#include "comm/bench/number.hpp"

namespace fastgpu::comm::bench {
namespace {

/// Returns the number of `rank` throughout gradient number `index` before the first step.
float addend(int rank, std::size_t index) noexcept {
  return static_cast<float>(1 + (static_cast<std::size_t>(rank) + index) % 2);
}

}  // namespace

/// Equal numbers of one type.
struct ModelExchange::Elements {
  ElementType type;
  std::span<std::byte> memory;

  std::size_t count() const { return memory.size() / size_of(type); }

  void fill(float number) const {
    const std::size_t size = size_of(type);
    put_number(type, number, memory.first(size));
    // Appends a copy of the present content.
    for (std::size_t at = size; at < memory.size(); at *= 2)
      std::memcpy(memory.data() + at, memory.data(), std::min(at, memory.size() - at));
  }

  /// Returns the index of the first element other than `number`; count() if all are equal to it.
  std::size_t first_other_than(float number) const {
    const std::size_t size = size_of(type);
    std::vector<std::byte> wanted(size);
    put_number(type, number, wanted);
    const auto is_wanted = [&](std::size_t at) {
      return std::memcmp(memory.data() + at, wanted.data(), size) == 0;
    };
    // If each equals its neighbour, the first one decides for all.
    if (is_wanted(0) && std::memcmp(memory.data(), memory.data() + size, memory.size() - size) == 0)
      return count();
    std::size_t at = 0;
    while (at < memory.size() && is_wanted(at))
      at += size;
    return at / size;
  }

  std::string text(std::size_t index) const {
    return number_text(type, memory.subspan(index * size_of(type), size_of(type)));
  }
};

void ModelExchange::Warnings::warned(const std::string& sentence) {
  print_warning(sentence);
}

ModelExchange::ModelExchange(Communicator& communicator, const GradientSettings& settings,
                             const Model& model, Handing handing)
    : communicator_(communicator),
      model_(model),
      handing_(handing),
      is_encoded_(settings.wire == WireType::encoded),
      values_(model.gradients.size()),
      gradients_(communicator, settings, &warnings_) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const auto& [name, elements, rows] = model.gradients[i];
    if (handing == Handing::copies) values_[i].resize(elements);
    using Shape = std::vector<std::uint64_t>;
    gradients_.add(
        {.name = name, .shape = rows == 0 ? Shape{elements} : Shape{rows, elements / rows}},
        std::as_writable_bytes(std::span(values_[i])));
  }
}

StepOutcome ModelExchange::exchange() {
  for (std::size_t i = values_.size(); i > 0; --i)
    gradients_.ready({i - 1});
  return gradients_.wait_step();
}

double ModelExchange::step() {
  if (is_encoded_) fill_with_noise();
  communicator_.barrier();
  const auto began = std::chrono::steady_clock::now();
  exchange();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
  double seconds = taken.count();
  communicator_.all_reduce(std::span(&seconds, 1), ReduceOp::max);
  return seconds;
}

void ModelExchange::check_step() {
  if (is_encoded_) return;
  gradients_.use_operation(ReduceOp::sum);
  do  // Moved views lose their content.
    fill();
  while (exchange().have_views_moved);
  for (std::size_t i = 0; i < values_.size(); ++i) {
    float wanted = 0;
    for (int rank = 0; rank < communicator_.size(); ++rank)
      wanted += addend(rank, i);
    const Elements got = elements_of({i});
    const std::size_t at = got.first_other_than(wanted);
    if (at == got.count()) continue;
    throw Error(ErrorKind::remote, "gradients of " + model_.name + " on rank " +
                                       std::to_string(communicator_.rank().value) + ": element " +
                                       std::to_string(at) + " of " + model_.gradients[i].name +
                                       " is " + got.text(at) + ", not " + std::to_string(wanted));
  }
  gradients_.use_operation(ReduceOp::average);
}

void ModelExchange::fill() {
  for (std::size_t i = 0; i < values_.size(); ++i)
    elements_of({i}).fill(addend(communicator_.rank().value, i));
}

/// Gives a codec numbers of many sizes, as gradients have them.
void ModelExchange::fill_with_noise() {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Elements elements = elements_of({i});
    if (elements.type != ElementType::float32) continue;
    std::uint32_t state = static_cast<std::uint32_t>(i + 1);
    const std::span numbers(reinterpret_cast<float*>(elements.memory.data()), elements.count());
    for (float& each : numbers) {
      state = state * 1'664'525U + 1'013'904'223U;
      const float number = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
      each = number * number * number;
    }
  }
}

ModelExchange::Elements ModelExchange::elements_of(GradientId id) {
  if (handing_ == Handing::copies)
    return {ElementType::float32, std::as_writable_bytes(std::span(values_[id.value]))};
  const auto view = gradients_.view(id);  // Taken before its type is known.
  return {gradients_.wire_type(id), view};
}

Bytes bytes_of(const Model& model) {
  Bytes bytes;
  for (const ModelGradient& gradient : model.gradients)
    bytes.count += gradient.elements * sizeof(float);
  return bytes;
}

}  // namespace fastgpu::comm::bench
