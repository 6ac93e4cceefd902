// Messages like MPI's between ranks that are threads of the test.
#pragma once

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "comm/mpi/messages.hpp"

namespace fastgpu::test {

/// The messages of all ranks of a job.
class PostOffice : public std::enable_shared_from_this<PostOffice> {
 public:
  std::unique_ptr<comm::mpi::MpiMessages> messages_of(comm::Rank rank);

  /// Returns the number of messages that were sent and whose receipt has not begun.
  std::size_t unread() {
    const std::lock_guard lock(mutex_);
    return sent_.size();
  }

 private:
  class Transfer;
  class Messages;

  struct Parcel {
    comm::Rank from{};
    comm::Rank to{};
    int number = 0;
    std::span<const std::byte> bytes{};  ///< The content of a sent message.
    std::span<std::byte> into{};         ///< The memory for a received message.
    std::shared_ptr<bool> is_done = std::make_shared<bool>(false);  ///< Shared by both sides.
  };
  using Parcels = std::list<Parcel>;

  static bool fit(const Parcel& a, const Parcel& b) {
    return a.from == b.from && a.to == b.to && a.number == b.number;
  }
  static void deliver(const Parcel& sent, const Parcel& wanted) {
    std::ranges::copy(sent.bytes, wanted.into.begin());
    *sent.is_done = *wanted.is_done = true;
  }
  std::unique_ptr<comm::mpi::Transfer> transfer_of(const Parcel& parcel);

  std::mutex mutex_;
  Parcels sent_;
  Parcels wanted_;
};

class PostOffice::Transfer final : public comm::mpi::Transfer {
 public:
  Transfer(std::shared_ptr<PostOffice> office, const Parcel& parcel)
      : office_(std::move(office)), parcel_(parcel) {}
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  ~Transfer() override {
    const std::lock_guard lock(office_->mutex_);
    const auto is_own = [this](const Parcel& each) { return each.is_done == parcel_.is_done; };
    std::erase_if(office_->sent_, is_own);
    std::erase_if(office_->wanted_, is_own);
    if (!has_ended_) keep(parcel_);
  }

  /// Reports the end only at the second call, because MPI does not report it at once either.
  bool test() override {
    const std::lock_guard lock(office_->mutex_);
    has_ended_ = *parcel_.is_done && ++asked_ > 1;
    return has_ended_;
  }

 private:
  /// Keeps a parcel for ever, as MPI does: the memory is in use until the process ends, and thus
  /// not leaked.
  static void keep(const Parcel& parcel) {
    static std::mutex mutex;
    static auto& kept = *new std::vector<Parcel>;
    const std::lock_guard lock(mutex);
    kept.push_back(parcel);
  }

  std::shared_ptr<PostOffice> office_;
  Parcel parcel_;
  int asked_ = 0;
  bool has_ended_ = false;
};

class PostOffice::Messages final : public comm::mpi::MpiMessages {
 public:
  Messages(std::shared_ptr<PostOffice> office, comm::Rank self)
      : office_(std::move(office)), self_(self) {}

  std::unique_ptr<comm::mpi::Transfer> send(std::span<const std::byte> bytes, comm::Rank to,
                                            int number) override {
    const std::lock_guard lock(office_->mutex_);
    const Parcel sent{.from = self_, .to = to, .number = number, .bytes = bytes};
    auto& wanted = office_->wanted_;
    const auto found =
        std::ranges::find_if(wanted, [&](const Parcel& each) { return fit(each, sent); });
    if (found == wanted.end()) {
      office_->sent_.push_back(sent);
    } else {
      deliver(sent, *found);
      wanted.erase(found);
    }
    return office_->transfer_of(sent);
  }

  std::unique_ptr<comm::mpi::Transfer> receive(std::span<std::byte> bytes, comm::Rank from,
                                               int number) override {
    const std::lock_guard lock(office_->mutex_);
    const Parcel wanted{.from = from, .to = self_, .number = number, .into = bytes};
    auto& sent = office_->sent_;
    const auto found =
        std::ranges::find_if(sent, [&](const Parcel& each) { return fit(each, wanted); });
    if (found == sent.end()) {
      office_->wanted_.push_back(wanted);
    } else {
      deliver(*found, wanted);
      sent.erase(found);
    }
    return office_->transfer_of(wanted);
  }

  std::optional<comm::mpi::FoundMessage> find(std::span<std::byte> into, int number) override {
    const std::lock_guard lock(office_->mutex_);
    auto& sent = office_->sent_;
    const auto found = std::ranges::find_if(
        sent, [&](const Parcel& each) { return each.to == self_ && each.number == number; });
    if (found == sent.end()) return std::nullopt;
    const Parcel parcel = *found;
    const Parcel wanted{.from = parcel.from, .to = self_, .number = number, .into = into};
    sent.erase(found);
    deliver(parcel, wanted);
    return comm::mpi::FoundMessage{parcel.from, parcel.bytes.size(), office_->transfer_of(wanted)};
  }

  bool is_over() const noexcept override { return false; }

 private:
  std::shared_ptr<PostOffice> office_;
  comm::Rank self_;
};

inline std::unique_ptr<comm::mpi::Transfer> PostOffice::transfer_of(const Parcel& parcel) {
  return std::make_unique<Transfer>(shared_from_this(), parcel);
}

inline std::unique_ptr<comm::mpi::MpiMessages> PostOffice::messages_of(comm::Rank rank) {
  return std::make_unique<Messages>(shared_from_this(), rank);
}

}  // namespace fastgpu::test
