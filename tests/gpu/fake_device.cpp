#include "gpu/fake_device.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <deque>
#include <vector>

#include "base/error.hpp"
#include "comm/codecs/codec.hpp"
#include "comm/codecs/codec_table.hpp"
#include "comm/gpu/nccl_library.hpp"

namespace fastgpu::test {
namespace {

using comm::gpu::EventHandle;
using comm::gpu::PackList;
using comm::gpu::PlacedTensor;
using comm::gpu::StreamHandle;
using Ranges = std::map<const std::byte*, std::size_t>;

bool holds(const Ranges& ranges, const void* data, std::size_t bytes) {
  const auto* begin = static_cast<const std::byte*>(data);
  auto after = ranges.upper_bound(begin);
  if (after == ranges.begin()) return false;
  --after;
  return begin + bytes <= after->first + after->second;
}

std::size_t sum_of(const Ranges& ranges) {
  std::size_t sum = 0;
  for (const auto& [begin, bytes] : ranges)
    sum += bytes;
  return sum;
}

class List final : public PackList {
 public:
  explicit List(std::span<const PlacedTensor> given) : tensors(given.begin(), given.end()) {}
  std::optional<comm::NonFinite> found() const override { return first; }

  std::vector<PlacedTensor> tensors;
  std::optional<comm::NonFinite> first;
};

/// Of tensor `i` in the list: its own bytes, and its part of the buffer.
template <class Bytes, class Body>
void for_each(const List& list, Bytes buffer, const comm::Conversion& conversion,
              comm::ElementType in_buffer, Body body) {
  const comm::ElementType own = in_buffer == conversion.to ? conversion.from : conversion.to;
  for (std::size_t i = 0; i < list.tensors.size(); ++i) {
    const PlacedTensor& each = list.tensors[i];
    body(i, std::span(each.tensor.data, each.tensor.count * comm::size_of(own)),
         buffer.subspan(each.place * comm::size_of(in_buffer),
                        each.tensor.count * comm::size_of(in_buffer)));
  }
}

}  // namespace

/// How often it was recorded, and how often a stream has passed that.
struct FakeDevice::Event {
  std::uint64_t recorded = 0;
  std::uint64_t passed = 0;
};

class FakeDevice::Stream {
 public:
  explicit Stream(FakeDevice& device)
      : device_(device), thread_([this](const std::stop_token& stop) { work(stop); }) {}

  /// The device's mutex is held.
  void add(std::function<void(Lock&)> work) {
    queue_.push_back(std::move(work));
    device_.changed_.notify_all();
  }
  void stop() { thread_.request_stop(); }

 private:
  /// What is left when it is destroyed is done first, as CUDA does.
  void work(const std::stop_token& stop) {
    Lock lock(device_.mutex_);
    while (true) {
      device_.changed_.wait(
          lock, [&] { return stop.stop_requested() || (!queue_.empty() && !device_.is_held_); });
      if (queue_.empty() || !device_.failure_.empty()) {
        if (stop.stop_requested()) return;
        queue_.clear();
        continue;
      }
      const auto next = std::move(queue_.front());
      queue_.pop_front();
      next(lock);
    }
  }

  FakeDevice& device_;
  std::deque<std::function<void(Lock&)>> queue_;
  std::jthread thread_;
};

FakeDevice::FakeDevice() : identity_{1} {
  const FakeDevice* const self = this;
  std::memcpy(identity_.data() + 1, &self, sizeof(self));
  streams_.emplace(nullptr, std::make_unique<Stream>(*this));
}

FakeDevice::~FakeDevice() {
  go_on();
  while (!streams_.empty())
    destroy(streams_.begin()->first);
}

// ---- what tests do to it ----

void FakeDevice::hold() {
  const Lock lock(mutex_);
  is_held_ = true;
}

void FakeDevice::go_on() {
  const Lock lock(mutex_);
  is_held_ = false;
  changed_.notify_all();
}

void FakeDevice::break_down(const std::string& why) {
  const Lock lock(mutex_);
  failure_ = why;
  changed_.notify_all();
}

void FakeDevice::limit_memory(std::size_t bytes) {
  const Lock lock(mutex_);
  limit_ = bytes;
}

std::size_t FakeDevice::pinned() const {
  const Lock lock(mutex_);
  return sum_of(pinned_);
}

std::size_t FakeDevice::allocated() const {
  const Lock lock(mutex_);
  return sum_of(sizes_);
}

void FakeDevice::run(StreamHandle stream, std::function<void()> work) {
  const Lock lock(mutex_);
  stream_of(stream).add([work = std::move(work)](Lock& held) {
    held.unlock();
    work();
    held.lock();
  });
}

// ---- memory ----

void FakeDevice::check_works() const {
  if (!failure_.empty()) throw Error(ErrorKind::local, failure_);
}

bool FakeDevice::is_mine(const void* data, std::size_t bytes) const {
  return holds(sizes_, data, bytes);
}

void FakeDevice::check_is_here(const void* data) const {
  const Lock lock(mutex_);
  if (!is_mine(data, 1)) throw Error(ErrorKind::usage, "the data is not in this GPU's memory");
}

void FakeDevice::check_device(std::span<const std::byte> memory) const {
  if (!memory.empty() && !is_mine(memory.data(), memory.size()))
    throw Error(ErrorKind::local, "an illegal memory access");
}

std::byte* FakeDevice::allocate(std::size_t bytes) {
  const Lock lock(mutex_);
  check_works();
  if (bytes > limit_)
    throw Error(ErrorKind::capacity,
                "allocating " + std::to_string(bytes) + " bytes of a GPU: out of memory");
  auto memory = std::make_unique<std::byte[]>(bytes);
  std::byte* const begin = memory.get();
  memory_.emplace(begin, std::move(memory));
  sizes_.emplace(begin, bytes);
  return begin;
}

void FakeDevice::free(std::byte* memory) noexcept {
  const Lock lock(mutex_);
  sizes_.erase(memory);
  memory_.erase(memory);
}

void FakeDevice::pin(std::span<std::byte> host) {
  const Lock lock(mutex_);
  check_works();
  if (!can_pin_) throw Error(ErrorKind::capacity, "pinning memory: the limit is reached");
  pinned_.emplace(host.data(), host.size());
}

void FakeDevice::unpin(std::byte* host) noexcept {
  const Lock lock(mutex_);
  pinned_.erase(host);
}

// ---- streams and events ----

StreamHandle FakeDevice::make_stream() {
  const Lock lock(mutex_);
  check_works();
  auto stream = std::make_unique<Stream>(*this);
  const auto handle = reinterpret_cast<StreamHandle>(stream.get());
  streams_.emplace(handle, std::move(stream));
  return handle;
}

void FakeDevice::destroy(StreamHandle stream) noexcept {
  std::unique_ptr<Stream> gone;
  {
    const Lock lock(mutex_);
    const auto found = streams_.find(stream);
    assert(found != streams_.end());
    gone = std::move(found->second);
    streams_.erase(found);
    gone->stop();
    changed_.notify_all();
  }
}

FakeDevice::Stream& FakeDevice::stream_of(StreamHandle handle) {
  const auto found = streams_.find(handle);
  if (found == streams_.end()) throw Error(ErrorKind::local, "an invalid stream");
  return *found->second;
}

EventHandle FakeDevice::make_event() {
  const Lock lock(mutex_);
  check_works();
  auto event = std::make_shared<Event>();
  const auto handle = reinterpret_cast<EventHandle>(event.get());
  events_.emplace(handle, std::move(event));
  return handle;
}

void FakeDevice::destroy(EventHandle event) noexcept {
  const Lock lock(mutex_);
  events_.erase(event);
}

std::shared_ptr<FakeDevice::Event> FakeDevice::event_of(EventHandle handle) const {
  const auto found = events_.find(handle);
  if (found == events_.end()) throw Error(ErrorKind::local, "an invalid event");
  return found->second;
}

void FakeDevice::record(EventHandle event, StreamHandle stream) {
  const Lock lock(mutex_);
  check_works();
  const auto what = event_of(event);
  const std::uint64_t time = ++what->recorded;
  stream_of(stream).add([this, what, time](Lock&) {
    what->passed = std::max(what->passed, time);
    changed_.notify_all();
  });
}

void FakeDevice::wait(StreamHandle stream, EventHandle event) {
  const Lock lock(mutex_);
  check_works();
  const auto what = event_of(event);
  const std::uint64_t time = what->recorded;
  stream_of(stream).add([this, what, time](Lock& held) {
    changed_.wait(held, [&] { return what->passed >= time || !failure_.empty(); });
  });
}

void FakeDevice::synchronize(EventHandle event) {
  Lock lock(mutex_);
  const auto what = event_of(event);
  const std::uint64_t time = what->recorded;
  changed_.wait(lock, [&] { return what->passed >= time || !failure_.empty(); });
  check_works();
}

bool FakeDevice::has_passed(EventHandle event) {
  const Lock lock(mutex_);
  check_works();
  const auto what = event_of(event);
  return what->passed >= what->recorded;
}

// ---- the current device, and NCCL ----

namespace {
/// CUDA too has a current device for each thread.
thread_local FakeDevice* device_of_thread = nullptr;
}  // namespace

FakeDevice* FakeDevice::current() noexcept {
  return device_of_thread;
}

void FakeDevice::as_current(const std::function<void()>& action) {
  struct Restore {
    FakeDevice* before = std::exchange(device_of_thread, nullptr);
    ~Restore() { device_of_thread = before; }
  } restore;
  device_of_thread = this;
  action();
}

std::shared_ptr<const comm::gpu::NcclLibrary> FakeDevice::load_nccl(const std::string& path) const {
  if (!path.empty()) return std::make_shared<comm::gpu::NcclLibrary>(path);
  if (nccl_) return nccl_;
  throw Error(ErrorKind::not_found, "libnccl.so.2: no such file: install NCCL");
}

// ---- what streams do ----

void FakeDevice::copy(std::span<std::byte> to, std::span<const std::byte> from,
                      StreamHandle stream) {
  assert(to.size() == from.size());
  const Lock lock(mutex_);
  check_works();
  for (const std::span<const std::byte> end : {std::span<const std::byte>(to), from})
    if (!is_mine(end.data(), end.size()) && !holds(pinned_, end.data(), end.size()))
      ++pageable_copies_;
  stream_of(stream).add([to, from](Lock& held) {
    held.unlock();
    std::ranges::copy(from, to.begin());
    held.lock();
  });
}

std::unique_ptr<PackList> FakeDevice::prepare(std::span<const PlacedTensor> tensors) {
  const Lock lock(mutex_);
  check_works();
  ++lists_;
  return std::make_unique<List>(tensors);
}

void FakeDevice::check_list(const PackList& list, std::span<const std::byte> buffer,
                            comm::ElementType type) const {
  check_works();
  check_device(buffer);
  for (const PlacedTensor& each : static_cast<const List&>(list).tensors)
    check_device({each.tensor.data, each.tensor.count * comm::size_of(type)});
}

void FakeDevice::pack_with(Search search, std::span<std::byte> buffer, PackList& list,
                           const comm::Conversion& conversion, StreamHandle stream) {
  const Lock lock(mutex_);
  check_list(list, buffer, conversion.from);
  ++packs_;
  auto& tensors = static_cast<List&>(list);
  stream_of(stream).add([&tensors, search, buffer, conversion](Lock& held) {
    held.unlock();
    tensors.first.reset();
    for_each(tensors, buffer, conversion, conversion.to,
             [&](std::size_t place, auto own, auto packed) {
               const auto index = comm::convert_checked(packed, own, conversion);
               if (search == Search::on && index && !tensors.first)
                 tensors.first = comm::NonFinite{place, *index};
             });
    held.lock();
  });
}

void FakeDevice::pack(std::span<std::byte> buffer, PackList& list,
                      const comm::Conversion& conversion, StreamHandle stream) {
  pack_with(Search::off, buffer, list, conversion, stream);
}

void FakeDevice::pack_checked(std::span<std::byte> buffer, PackList& list,
                              const comm::Conversion& conversion, StreamHandle stream) {
  pack_with(Search::on, buffer, list, conversion, stream);
}

void FakeDevice::unpack(PackList& list, std::span<const std::byte> buffer,
                        const comm::Conversion& conversion, StreamHandle stream) {
  const Lock lock(mutex_);
  check_list(list, buffer, conversion.to);
  stream_of(stream).add([&tensors = static_cast<List&>(list), buffer, conversion](Lock& held) {
    held.unlock();
    for_each(tensors, buffer, conversion, conversion.from,
             [&](std::size_t, auto own, auto packed) { comm::convert(own, packed, conversion); });
    held.lock();
  });
}

// ---- codes ----

namespace {

class Codes final : public comm::gpu::CodeList {
 public:
  Codes(const comm::CodecChoice& choice, std::span<const comm::gpu::CodeStretch> given)
      : codec(comm::make_codec(choice)),
        has_feedback(comm::entry_of(choice.id).has_feedback),
        stretches(given.begin(), given.end()) {}

  std::unique_ptr<const comm::Codec> codec;
  bool has_feedback;
  std::vector<comm::gpu::CodeStretch> stretches;
};

/// Calls body(numbers, code, chance) for each stretch.
template <class Code, class Body>
void for_each_stretch(const Codes& codes, std::span<std::byte> numbers, std::span<Code> code,
                      Body body) {
  const std::span<float> floats(reinterpret_cast<float*>(numbers.data()),
                                numbers.size() / sizeof(float));
  for (const comm::gpu::CodeStretch& each : codes.stretches)
    body(floats.subspan(each.at, each.count),
         code.subspan(each.code, codes.codec->encoded_bytes(each.count)), each.chance);
}

}  // namespace

std::unique_ptr<comm::gpu::CodeList> FakeDevice::prepare(
    const comm::CodecChoice& codec, std::span<const comm::gpu::CodeStretch> stretches) {
  const Lock lock(mutex_);
  check_works();
  return std::make_unique<Codes>(codec, stretches);
}

void FakeDevice::check_stretches(const comm::gpu::CodeList& list, std::span<const std::byte> code,
                                 std::span<const std::byte> numbers) const {
  const auto& codes = static_cast<const Codes&>(list);
  for (const comm::gpu::CodeStretch& each : codes.stretches)
    if ((each.at + each.count) * sizeof(float) > numbers.size() ||
        each.code + codes.codec->encoded_bytes(each.count) > code.size())
      throw Error(ErrorKind::local, "an illegal memory access");
}

void FakeDevice::run_on(std::initializer_list<std::span<const std::byte>> memory,
                        StreamHandle stream, std::function<void()> work) {
  const Lock lock(mutex_);
  check_works();
  for (const auto& each : memory)
    check_device(each);
  stream_of(stream).add([work = std::move(work)](Lock& held) {
    held.unlock();
    work();
    held.lock();
  });
}

void FakeDevice::encode(std::span<std::byte> code, std::span<std::byte> numbers,
                        comm::gpu::CodeList& list, std::uint64_t seed, StreamHandle stream) {
  check_stretches(list, code, numbers);
  ++encodings_;
  run_on({code, numbers}, stream, [&codes = static_cast<Codes&>(list), code, numbers, seed] {
    for_each_stretch(codes, numbers, code, [&](auto from, auto to, std::uint64_t chance) {
      if (codes.has_feedback)
        codes.codec->encode_with_feedback(to, from, seed ^ chance);
      else
        codes.codec->encode(to, from, seed ^ chance);
    });
  });
}

void FakeDevice::add_codes(std::span<std::byte> sum, std::span<const std::byte> code,
                           comm::gpu::CodeList& list, StreamHandle stream) {
  check_stretches(list, code, sum);
  run_on({sum, code}, stream, [&codes = static_cast<Codes&>(list), sum, code] {
    for_each_stretch(codes, sum, code,
                     [&](auto to, auto from, std::uint64_t) { codes.codec->add(to, from, 1); });
  });
}

void FakeDevice::clear(std::span<std::byte> memory, StreamHandle stream) {
  run_on({memory}, stream, [memory] { std::ranges::fill(memory, std::byte{0}); });
}

void FakeDevice::add(std::span<std::byte> sum, std::span<const std::byte> numbers,
                     StreamHandle stream) {
  run_on({sum, numbers}, stream, [sum, numbers] {
    comm::reduce_into(sum, numbers, {comm::ElementType::float32, comm::ReduceOp::sum});
  });
}

void FakeDevice::finish(std::span<std::byte> sum, comm::ReduceOp op, int ranks,
                        StreamHandle stream) {
  run_on({sum}, stream, [sum, op, ranks] {
    comm::finish(sum, {comm::ElementType::float32, op}, ranks);
  });
}

}  // namespace fastgpu::test
