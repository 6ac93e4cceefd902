// The conversion of machines to and from Huawei Cloud's form. Pure.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "provision/cloud/answer.hpp"
#include "provision/cloud/failure.hpp"
#include "provision/cloud/model.hpp"

namespace fastgpu::provision::huawei {

/// Returns the body of a request for servers. A time of release that is too near becomes the
/// nearest possible one.
nlohmann::json launch_body(const cloud::Launch& launch, std::chrono::system_clock::time_point now);

/// Returns the body of a launch that is only tried, in a subnet from a list.
nlohmann::json trial_body(const cloud::Trial& trial, const cloud::Answer& subnet);

/// Returns the type of a disk in the form of launches and of the price list; the default type if
/// `disk` has none.
std::string disk_type(const DataDisk& disk);

/// Returns the time at which a timer ends that is set at `now` for `when`.
std::chrono::system_clock::time_point release_time(std::chrono::system_clock::time_point when,
                                                   std::chrono::system_clock::time_point now);

/// Returns that time in the cloud's form.
std::string release_text(std::chrono::system_clock::time_point when,
                         std::chrono::system_clock::time_point now);

/// Returns 32 hexadecimal digits as a UUID. For a token that the cloud has forgotten, the next
/// `generation` gives a new one for the same launch.
std::string client_token(const std::string& token, int generation);

/// Returns one server of a list. Its node's index is the sum of its name's number and the tag with
/// the launch's first node.
cloud::Machine machine_of(const cloud::Answer& server, const std::string& region);

/// The state of a job.
struct HuaweiJob {
  bool is_over = false;
  std::vector<std::string> made{};  ///< The servers that it has made.
  /// The servers that its failed parts have left.
  std::vector<std::string> failed{};
  /// The failure of the first failed part; absent without one.
  std::optional<cloud::Failure> failure{};
};

HuaweiJob job_in(const cloud::Answer& answer);

}  // namespace fastgpu::provision::huawei
