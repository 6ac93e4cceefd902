// Huawei Cloud's Elastic Cloud Servers as a cloud.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>

#include "provision/cloud/cloud.hpp"
#include "provision/providers/huawei/api.hpp"
#include "provision/providers/huawei/machines.hpp"

namespace fastgpu::provision::huawei {

class HuaweiCloud final : public cloud::Cloud {
 public:
  HuaweiCloud(cloud::ApiTools tools, cloud::Endpoint endpoint)
      : wait_(tools.wait), api_(std::move(tools), std::move(endpoint)) {}

  std::string_view name() const noexcept override { return "huawei"; }
  cloud::Limits limits() const noexcept override {
    return {.machines_a_launch = 100,
            .machines_a_call = 1000,
            .user_data = 32768,
            .has_partial_launch = false,
            .knows_images_again = false};
  }
  bool has_credentials() override;
  bool has_accepted_us() noexcept override { return api_.caller().has_been_accepted(); }
  std::string account(const Cancel& cancel) override;
  std::vector<std::string> regions(const Cancel& cancel) override;
  std::vector<cloud::Offer> offers(const std::string& region, const cloud::Wish& wish,
                                   const Cancel& cancel) override;
  std::vector<cloud::Image> images(const std::string& region, const std::string& name,
                                   const std::string& type, const Cancel& cancel) override;
  std::string public_key(const std::string& region, const std::string& key_pair,
                         const Cancel& cancel) override;
  std::vector<cloud::OwnImage> own_images(const std::string& region, const Cancel& cancel) override;
  void make_image(const cloud::ImageWish& wish, const Cancel& cancel) override;
  void remove_image(const std::string& region, const cloud::OwnImage& image) override;
  std::vector<cloud::Quota> quotas(const std::string& region, const Cancel& cancel) override;
  void check_network(const cloud::Site& site, const std::string& vpc,
                     const Cancel& cancel) override;
  cloud::Parts make_network(const cloud::NetworkWish& wish, const Cancel& cancel) override;
  void remove_network(const std::string& region, const state::ClusterId& cluster,
                      const cloud::Parts& known) override;
  /// Waits until the cloud's job tells how it went: that is where it refuses for want of stock.
  /// What a job made by halves is removed. Launches that are asked for at once end at about the
  /// same time: one of them waits and looks, and what it sees may answer for others.
  std::vector<cloud::Machine> launch(const cloud::Launch& launch, const Cancel& cancel) override;
  std::optional<cloud::Failure> try_launch(const cloud::Trial& trial,
                                           const Cancel& cancel) override;
  std::vector<cloud::Machine> machines(const std::string& region, const state::ClusterId& cluster,
                                       const Cancel& cancel) override;
  void start(const std::string& region, std::span<const std::string> ids,
             const Cancel& cancel) override;
  void stop(const std::string& region, std::span<const std::string> ids,
            const Cancel& cancel) override;
  void terminate(const std::string& region, std::span<const std::string> ids) override;
  void release_at(const std::string& region, std::span<const std::string> ids,
                  std::optional<std::chrono::system_clock::time_point> when,
                  const Cancel& cancel) override;
  cloud::TimePoint timer_at(cloud::TimePoint wished, cloud::TimePoint now) const override;
  void tag(const std::string& region, std::span<const std::string> ids, const cloud::Tags& tags,
           const Cancel& cancel) override;
  std::vector<cloud::Part> parts(const std::string& region, const Cancel& cancel) override;

 private:
  using Wait = std::function<void(std::chrono::milliseconds, const Cancel&)>;

  /// The job that a launch has become.
  std::string ask_for(const cloud::Launch& launch, const Cancel& cancel);
  /// The job once it is over, or as it stands when patience ends. It was asked for when so much
  /// time had passed in pauses. Under the turn.
  Job await_job(const std::string& region, const std::string& job, std::chrono::milliseconds asked,
                const Cancel& cancel);
  void pause(std::chrono::milliseconds time, const Cancel& cancel);
  /// All machines of a launch, where they were seen to run after it was asked for. Under the turn.
  std::vector<cloud::Machine> seen_since(const cloud::Launch& launch,
                                         std::chrono::milliseconds asked) const;
  /// What a job has left, once the cloud lists all that it has made. Under the turn.
  std::vector<cloud::Machine> await_listing(const cloud::Launch& launch, const Job& job,
                                            const Cancel& cancel);
  /// Those of the machines that the cloud knows.
  std::vector<cloud::Machine> find(const std::string& region, std::span<const std::string> ids,
                                   const Cancel& cancel);
  std::vector<cloud::Machine> list(const std::string& region, http::Parameters query,
                                   const Cancel& cancel);
  /// Starts or stops those that are not yet in the wanted state.
  void change(const std::string& region, std::span<const std::string> ids,
              const std::string& action, cloud::MachineState wanted, const Cancel& cancel);

  /// What one who waited for a job saw of the cluster's machines.
  struct Seen {
    std::chrono::milliseconds when{0};  ///< As paused_.
    std::vector<cloud::Machine> machines{};
  };

  Wait wait_;
  Api api_;
  std::mutex turn_{};  ///< Of waiting for a job.
  Seen seen_{};
  /// In all, for jobs: how those tell the time who wait for their turn.
  std::atomic<std::chrono::milliseconds> paused_{};
  const Cancel never_{};
};

}  // namespace fastgpu::provision::huawei
