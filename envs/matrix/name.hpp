// Names of environments, which list everything in one: "tf1.15_tr1.4.0_mx1.5.0_cu10.0_py36".
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fastgpu::envs {

enum class Framework : std::uint8_t { tensorflow, pytorch, mxnet, jax };
inline constexpr std::array kFrameworks = {Framework::tensorflow, Framework::pytorch,
                                           Framework::mxnet, Framework::jax};

enum class Platform : std::uint8_t {
  cpu,   ///< No accelerator.
  cuda,  ///< NVIDIA's.
  cann,  ///< Huawei's Ascend.
};

std::string_view tag(Framework framework) noexcept;           ///< "tf", "tr", "mx", "jx"
std::string_view display_name(Framework framework) noexcept;  ///< "PyTorch"

struct FrameworkVersion {
  Framework framework = Framework::pytorch;
  std::string version;  ///< "1.15": as exact as in the name.
  friend auto operator<=>(const FrameworkVersion&, const FrameworkVersion&) = default;
};

/// The hardware that the frameworks compute on.
struct Accelerator {
  Platform platform = Platform::cpu;
  std::string version{};  ///< The version of CUDA or CANN: "10.0", "8.3.RC1"; empty for cpu.
  friend auto operator<=>(const Accelerator&, const Accelerator&) = default;
};

/// Parses "cu12.4", "cpu", "can8.0.0"; throws usage.
Accelerator parse_accelerator(std::string_view text);
std::string to_string(const Accelerator& accelerator);

struct EnvironmentName {
  bool has_prefix = false;  ///< Begins with "aiacct_".
  /// At least one, without repetition, in kFrameworks' order.
  std::vector<FrameworkVersion> frameworks;
  Accelerator accelerator{};
  std::string python;  ///< "3.6", written py36.
  friend bool operator==(const EnvironmentName&, const EnvironmentName&) = default;
};

/// Reads `[aiacct_]{tf<v>|tr<v>|mx<v>|jx<v>}(_...)_{cu<v>|cpu|can<v>}_py<vv>`; frameworks may come
/// in any order. Throws ErrorKind::usage with the place and the nearest correct alternative.
EnvironmentName parse_environment_name(std::string_view text);

/// A name that may leave the accelerator to the nodes: "tr2.8.0_py311".
struct WantedName {
  EnvironmentName name;  ///< Has cpu if the name leaves it open.
  bool has_accelerator = true;
};
WantedName parse_wanted_name(std::string_view text);  ///< Throws as parse_environment_name.
/// Returns its canonical spelling, too.
std::string to_string(const WantedName& wanted);

/// Returns its canonical spelling: parse_environment_name(to_string(name)) == name.
std::string to_string(const EnvironmentName& name);

/// Compares versions: "1.15" < "1.15.1" < "1.16". Numbers compare by value, the text after them by
/// its bytes.
std::strong_ordering compare_versions(std::string_view a, std::string_view b) noexcept;

/// Returns whether `version` is one of those that `wanted` leaves open: "12.4" covers "12.4" and
/// "12.4.1".
bool covers(std::string_view wanted, std::string_view version) noexcept;

}  // namespace fastgpu::envs
