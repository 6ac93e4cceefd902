// Alibaba Cloud ECS as a cloud.
#pragma once

#include "provision/cloud/cloud.hpp"
#include "provision/cloud/cloud_setup.hpp"
#include "provision/polling.hpp"
#include "provision/providers/alibaba/alibaba_api.hpp"
#include "provision/providers/alibaba/info.hpp"

namespace fastgpu::provision::alibaba {

class AlibabaCloud final : public cloud::Cloud {
 public:
  AlibabaCloud(cloud::ApiTools tools, cloud::CloudEndpoint endpoint)
      : wait_(tools.wait), api_(std::move(tools), std::move(endpoint)) {}

  std::string_view name() const noexcept override { return kInfo.name; }
  cloud::Limits limits() const noexcept override {
    return {.machines_a_launch = 100,
            .machines_a_call = 100,
            .user_data = 32'768,
            .has_timer = kInfo.has_timer,
            .has_reservations = true};
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
  struct Change;

  /// Returns the machines with these ids that are listed.
  std::vector<cloud::Machine> described(const std::string& region, std::span<const std::string> ids,
                                        const Cancel& cancel);
  void change(const std::string& region, std::span<const std::string> ids, const Change& change,
              const Cancel& cancel);

  Wait wait_;
  AlibabaApi api_;
  const Cancel never_{};
};

/// Creates the cloud, with the credentials and addresses that the environment names.
std::unique_ptr<cloud::Cloud> make_cloud(const cloud::CloudSetup& setup);

}  // namespace fastgpu::provision::alibaba
