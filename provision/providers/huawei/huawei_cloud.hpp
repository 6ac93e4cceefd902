// Huawei Cloud's Elastic Cloud Servers as a cloud.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>

#include "provision/cloud/cloud.hpp"
#include "provision/cloud/cloud_setup.hpp"
#include "provision/polling.hpp"
#include "provision/providers/huawei/api.hpp"
#include "provision/providers/huawei/info.hpp"
#include "provision/providers/huawei/machines.hpp"

namespace fastgpu::provision::huawei {

class HuaweiCloud final : public cloud::Cloud {
 public:
  HuaweiCloud(cloud::ApiTools tools, cloud::CloudEndpoint endpoint)
      : wait_(tools.wait), api_(std::move(tools), std::move(endpoint)) {}

  std::string_view name() const noexcept override { return kInfo.name; }
  cloud::Limits limits() const noexcept override {
    return {.machines_a_launch = 100,
            .machines_a_call = 1000,
            .user_data = 32768,
            .has_partial_launch = false,
            .has_timer = kInfo.has_timer,
            .knows_images_again = false};
  }
  bool has_credentials() override;
  bool has_accepted_us() noexcept override { return api_.caller().has_been_accepted(); }
  std::string account(const Cancel& cancel) override;
  std::vector<std::string> regions(const Cancel& cancel) override;
  std::vector<cloud::Offer> offers(const std::string& region, const cloud::MachineRequest& request,
                                   const Cancel& cancel) override;
  std::vector<cloud::Image> images(const std::string& region, const std::string& name,
                                   const std::string& type, const Cancel& cancel) override;
  std::string public_key(const std::string& region, const std::string& key_pair,
                         const Cancel& cancel) override;
  std::vector<cloud::OwnImage> own_images(const std::string& region, const Cancel& cancel) override;
  void make_image(const cloud::ImageRequest& request, const Cancel& cancel) override;
  void remove_image(const std::string& region, const cloud::OwnImage& image) override;
  std::vector<cloud::Quota> quotas(const std::string& region, const Cancel& cancel) override;
  void check_network(const cloud::Site& site, const std::string& vpc,
                     const Cancel& cancel) override;
  cloud::Parts make_network(const cloud::NetworkRequest& request, const Cancel& cancel) override;
  std::vector<IpRange> open_ranges(const cloud::NetworkRequest& request,
                                   const Cancel& cancel) override;
  void close_ranges(const cloud::NetworkRequest& request, const Cancel& cancel) override;
  void remove_network(const std::string& region, const state::ClusterId& cluster,
                      const cloud::Parts& known) override;
  /// Launches machines. Waits for the end of the cloud's job, because a lack of stock is reported
  /// there, and removes the broken machines of a job that failed in part. Simultaneous launches end
  /// at about the same time: one of them waits and lists the machines, and its list may answer the
  /// others.
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
  std::vector<cloud::CloudPart> parts(const std::string& region, const Cancel& cancel) override;

 private:
  /// Requests a launch and returns the id of its job.
  std::string ask_for(const cloud::Launch& launch, const Cancel& cancel);
  /// Returns the job once it is over, or in its present state after the timeout. `asked` is paused_
  /// at the time of the request. The caller holds turn_.
  HuaweiJob await_job(const std::string& region, const std::string& job,
                      std::chrono::milliseconds asked, const Cancel& cancel);
  void pause(std::chrono::milliseconds time, const Cancel& cancel);
  /// Returns all machines of a launch if a list made after `asked` shows all of them running; empty
  /// otherwise. The caller holds turn_.
  std::vector<cloud::Machine> seen_since(const cloud::Launch& launch,
                                         std::chrono::milliseconds asked) const;
  /// Returns the machines that a job has left, once the cloud lists all that it has made. The
  /// caller holds turn_.
  std::vector<cloud::Machine> await_listing(const cloud::Launch& launch, const HuaweiJob& job,
                                            const Cancel& cancel);
  /// Returns the machines that the cloud knows.
  std::vector<cloud::Machine> find(const std::string& region, std::span<const std::string> ids,
                                   const Cancel& cancel);
  std::vector<cloud::Machine> list(const std::string& region, http::Parameters query,
                                   const Cancel& cancel);
  /// Starts or stops those that are not in the wanted state yet.
  void change(const std::string& region, std::span<const std::string> ids,
              const std::string& action, cloud::MachineState wanted, const Cancel& cancel);

  /// The cluster's machines in the last list that a launch made.
  struct Seen {
    std::chrono::milliseconds when{0};  ///< The value of paused_ then.
    std::vector<cloud::Machine> machines{};
  };

  Wait wait_;
  Api api_;
  std::mutex turn_{};  ///< Held while a launch waits for its job.
  Seen seen_{};
  /// The total time of all pauses for jobs: the clock of launches that wait for turn_.
  std::atomic<std::chrono::milliseconds> paused_{};
  const Cancel never_{};
};

/// Creates the cloud, with the credentials and addresses that the environment names.
std::unique_ptr<cloud::Cloud> make_cloud(const cloud::CloudSetup& setup);

}  // namespace fastgpu::provision::huawei
