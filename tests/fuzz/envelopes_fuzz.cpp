// What another rank may send by MPI while this one waits for messages from it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "awaited_messages.hpp"
#include "comm/transports/mpi_transport.hpp"

namespace comm = fastgpu::comm;

namespace {

using Bytes = std::span<const std::byte>;

class Done final : public comm::mpi::Transfer {
 public:
  bool test() override { return true; }
};

/// Envelopes one after the other, each behind its length; what follows an envelope is what was in
/// the memory before.
class Said final : public comm::mpi::MpiMessages {
 public:
  explicit Said(Bytes said) : said_(said) {}

  std::unique_ptr<comm::mpi::Transfer> send(Bytes, comm::Rank, int) override {
    return std::make_unique<Done>();
  }
  std::unique_ptr<comm::mpi::Transfer> receive(std::span<std::byte>, comm::Rank, int) override {
    return std::make_unique<Done>();
  }
  std::optional<comm::mpi::FoundMessage> find(std::span<std::byte> into, int) override {
    if (said_.size() < 2) return std::nullopt;
    const std::size_t wanted =
        std::to_integer<std::size_t>(said_[0]) << 4 | std::to_integer<std::size_t>(said_[1]) >> 4;
    said_ = said_.subspan(2);
    const Bytes envelope = said_.first(std::min({wanted, said_.size(), into.size()}));
    std::ranges::copy(envelope, into.begin());
    said_ = said_.subspan(envelope.size());
    return comm::mpi::FoundMessage{{1}, envelope.size(), std::make_unique<Done>()};
  }
  bool is_over() const noexcept override { return false; }

 private:
  Bytes said_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fastgpu::fuzz::CheckedEvents<> nobody;
  comm::MpiTransport transport(std::make_unique<Said>(std::as_bytes(std::span(data, size))), 2,
                               nobody);
  fastgpu::fuzz::AwaitedMessages({0, 10, 3000, 40'000}).await(transport, [] {});
  return 0;
}
