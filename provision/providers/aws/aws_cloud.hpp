// AWS EC2 as a cloud.
#pragma once

#include "provision/cloud/cloud.hpp"
#include "provision/cloud/cloud_setup.hpp"
#include "provision/polling.hpp"
#include "provision/providers/aws/ec2.hpp"
#include "provision/providers/aws/info.hpp"
#include "provision/providers/aws/prices.hpp"

namespace fastgpu::provision::aws {

class AwsCloud final : public cloud::Cloud {
 public:
  AwsCloud(cloud::ApiTools tools, Endpoints endpoints)
      : wait_(tools.wait), ec2_(std::move(tools), std::move(endpoints)) {}

  std::string_view name() const noexcept override { return kInfo.name; }
  cloud::Limits limits() const noexcept override {
    return {.machines_a_launch = 1000,
            .machines_a_call = 1000,
            .has_timer = kInfo.has_timer,
            .has_reservations = true};
  }
  bool has_credentials() override;
  bool has_accepted_us() noexcept override { return ec2_.caller().has_been_accepted(); }
  std::string account(const Cancel& cancel) override;
  std::vector<std::string> regions(const Cancel& cancel) override;
  std::vector<std::string> usual_regions() override;
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
  std::vector<cloud::Machine> machines_and_ended(const std::string& region,
                                                 const state::ClusterId& cluster,
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
  void tag(const std::string& region, std::span<const std::string> ids, const cloud::Tags& tags,
           const Cancel& cancel) override;
  std::vector<cloud::CloudPart> parts(const std::string& region, const Cancel& cancel) override;

 private:
  /// Returns the machines with the cluster's mark that are in one of these states.
  std::vector<cloud::Machine> machines_in_states(const std::string& region,
                                                 const state::ClusterId& cluster,
                                                 const std::vector<std::string>& states,
                                                 const Cancel& cancel);

  /// The machines that a capacity reservation covers.
  struct Reservation {
    std::string type{};
    std::string zone{};
    int available = 0;
    /// True for a capacity block, which was bought for a time and is a market of its own.
    bool is_block = false;
  };
  /// Returns the reservation; absent if the region has none of that id.
  std::optional<Reservation> reservation(const std::string& region, const std::string& id,
                                         const Cancel& cancel);

  Wait wait_;
  Ec2 ec2_;
  Prices prices_{ec2_};
  const Cancel never_{};
};

/// Creates the cloud, with the credentials and addresses that the environment names.
std::unique_ptr<cloud::Cloud> make_cloud(const cloud::CloudSetup& setup);

}  // namespace fastgpu::provision::aws
