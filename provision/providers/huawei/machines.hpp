// Servers between Huawei Cloud's words and ours. Pure.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "provision/cloud/answer.hpp"
#include "provision/cloud/failure.hpp"
#include "provision/cloud/model.hpp"

namespace fastgpu::provision::huawei {

/// The body that servers are asked for with. A time of release that is nearer than the cloud takes
/// becomes the nearest that it takes.
nlohmann::json launch_body(const cloud::Launch& launch, std::chrono::system_clock::time_point now);

/// The body of a launch that is only tried, in a subnet as lists show it.
nlohmann::json trial_body(const cloud::Trial& trial, const cloud::Answer& subnet);

/// As launches and the price list name it: its own word, or the usual one.
std::string disk_type(const DataDisk& disk);

/// When a timer runs out that is set at `now` for `when`.
std::chrono::system_clock::time_point release_time(std::chrono::system_clock::time_point when,
                                                   std::chrono::system_clock::time_point now);

/// As its timers are told that time.
std::string release_text(std::chrono::system_clock::time_point when,
                         std::chrono::system_clock::time_point now);

/// 32 hexadecimal digits as a UUID. After the cloud has forgotten a token the next `generation` of
/// it stands for the same launch.
std::string client_token(const std::string& token, int generation);

/// One of a list of servers. Which node it is follows from its name's number and the tag of the
/// launch's first node.
cloud::Machine machine_of(const cloud::Answer& server, const std::string& region);

/// How a job stands.
struct Job {
  bool is_over = false;
  std::vector<std::string> made{};          ///< The servers of what has succeeded.
  std::vector<std::string> failed{};        ///< The servers that what has failed has left.
  std::optional<cloud::Failure> failure{};  ///< Why the first failed one has; absent: none has.
};

Job job_in(const cloud::Answer& answer);

}  // namespace fastgpu::provision::huawei
