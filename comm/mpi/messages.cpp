#include "comm/mpi/messages.hpp"

#include <utility>

namespace fastgpu::comm::mpi {
namespace {

class MpiTransfer final : public Transfer {
 public:
  MpiTransfer(std::shared_ptr<const MpiWorld> world, Request* request)
      : world_(std::move(world)), request_(request) {}
  MpiTransfer(const MpiTransfer&) = delete;
  MpiTransfer& operator=(const MpiTransfer&) = delete;
  ~MpiTransfer() override {
    if (request_ != nullptr && world_->library()->is_over() == 0)
      world_->library()->forget(request_);
  }

  bool test() override {
    int is_done = 0;
    world_->library().check(world_->library()->test(request_, &is_done), "moving a message");
    if (is_done != 0) request_ = nullptr;
    return is_done != 0;
  }

 private:
  std::shared_ptr<const MpiWorld> world_;  ///< Shared with all users of MPI.
  Request* request_;
};

class PluginMessages final : public MpiMessages {
 public:
  explicit PluginMessages(std::shared_ptr<const MpiWorld> world) : world_(std::move(world)) {
    world_->need_threads("FASTGPU_COMM_TRANSPORT=mpi");
  }

  std::unique_ptr<Transfer> send(std::span<const std::byte> bytes, Rank to, int number) override {
    Request* request = nullptr;
    library().check(library()->send(world_->everybody(), bytes.data(),
                                    static_cast<int>(bytes.size()), to.value, number, &request),
                    "MPI_Issend");
    return transfer(request);
  }

  std::unique_ptr<Transfer> receive(std::span<std::byte> bytes, Rank from, int number) override {
    Request* request = nullptr;
    library().check(
        library()->receive(world_->everybody(), bytes.data(), static_cast<int>(bytes.size()),
                           from.value, number, &request),
        "MPI_Irecv");
    return transfer(request);
  }

  std::optional<FoundMessage> find(std::span<std::byte> into, int number) override {
    Arrival arrival;
    library().check(library()->find(world_->everybody(), into.data(), static_cast<int>(into.size()),
                                    number, &arrival),
                    "MPI_Improbe");
    if (arrival.request == nullptr) return std::nullopt;
    return FoundMessage{
        {arrival.from}, static_cast<std::size_t>(arrival.bytes), transfer(arrival.request)};
  }

  bool is_over() const noexcept override { return library()->is_over() != 0; }

 private:
  const MpiPlugin& library() const noexcept { return world_->library(); }

  std::unique_ptr<Transfer> transfer(Request* request) const {
    return std::make_unique<MpiTransfer>(world_, request);
  }

  std::shared_ptr<const MpiWorld> world_;  ///< Shared with all users of MPI.
};

}  // namespace

std::unique_ptr<MpiMessages> messages_of(std::shared_ptr<const MpiWorld> world) {
  return std::make_unique<PluginMessages>(std::move(world));
}

}  // namespace fastgpu::comm::mpi
