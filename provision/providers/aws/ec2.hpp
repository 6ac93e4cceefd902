// Calls of AWS's services: parameters in, documents out.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "http/urls.hpp"
#include "provision/cloud/answer.hpp"
#include "provision/cloud/caller.hpp"
#include "provision/cloud/parameters.hpp"
#include "provision/providers/aws/aws_dialect.hpp"
#include "provision/providers/aws/partition.hpp"
#include "provision/providers/aws/xml.hpp"

namespace fastgpu::provision::aws {

using cloud::add_list;
using http::Parameters;

/// The URLs that replace AWS's own; empty: AWS's own.
struct Endpoints {
  std::string all{};  ///< AWS_ENDPOINT_URL
  std::string ec2{};  ///< AWS_ENDPOINT_URL_EC2
  /// AWS_ENDPOINT_URL_STS and others, by the service's name in hosts ("sts").
  std::map<std::string, std::string> others{};
};

/// One call of EC2, with its name for error messages.
struct Ec2Call {
  std::string region{};
  std::string action{};
  Parameters parameters{};
  /// The action for error messages: "launching 4 p4d.24xlarge in us-east-1a".
  std::string doing{};
  bool is_repeatable = true;  ///< Equal to cloud::Call's.
  bool outwaits_use = true;   ///< Equal to cloud::Call's.
  bool is_start = false;      ///< Equal to cloud::Call's.
};

class Ec2 {
 public:
  using Document = std::unique_ptr<pugi::xml_document>;

  Ec2(cloud::ApiTools tools, Endpoints endpoints)
      : endpoints_(std::move(endpoints)), caller_(std::move(tools), dialect_) {}

  cloud::Caller& caller() noexcept { return caller_; }

  /// Returns the partition of the account, by the region in its environment or profile.
  const Partition& partition() { return partition_of(caller_.credentials().region); }

  /// Returns the answer's document. Throws as cloud::Caller::call does, and remote for an answer
  /// that is not XML.
  Document call(const Ec2Call& call, const Cancel& cancel);

  /// Returns the refusal; absent for a success.
  std::optional<cloud::Failure> try_call(const Ec2Call& call, const Cancel& cancel);

  /// Reads every page; `take` gets each answer's root.
  void pages(Ec2Call call, const std::function<void(const pugi::xml_node&)>& take,
             const Cancel& cancel);

  /// Calls the security token service in the same way.
  Document sts(const std::string& action, const Cancel& cancel);

  /// Calls a service that speaks JSON ("ssm", "AmazonSSM.GetParameter").
  cloud::JsonAnswer json(const std::string& service, const std::string& region,
                         const std::string& target, const nlohmann::json& body,
                         const Cancel& cancel);

 private:
  std::string url(const std::string& service, const std::string& region) const;
  cloud::CloudCall form(const Ec2Call& call, const std::string& service,
                        const std::string& version) const;

  AwsDialect dialect_;
  Endpoints endpoints_;
  cloud::Caller caller_;
};

/// Appends "Filter.<n>.Name" and its values.
void add_filter(Parameters& parameters, int n, const std::string& name,
                const std::vector<std::string>& values);

}  // namespace fastgpu::provision::aws
