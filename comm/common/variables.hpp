// The variables of the environment that the library reads, by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/common/process_environment.hpp"

namespace fastgpu::comm {

/// Returns the names of all variables of this process.
std::vector<std::string> process_variables();

/// Throws ErrorKind::usage for a name that begins with FASTGPU_COMM_ and is unknown, with the
/// nearest known one. It has been mistyped, or is another version's, and would have no effect.
void check_variables(std::span<const std::string> names);

/// Throws the same for a setting that a program gives, under any name that the library does not
/// read: "WIRE" or "wire" in place of FASTGPU_COMM_WIRE would have no effect.
void check_setting(const std::string& name);

/// The call in which a setting has an effect. One of an exchange (gradients, gossip, multistep
/// training) may be given to the job, too; one of the process is read from its environment alone.
enum class SettingPlace : std::uint8_t { process, job, exchange };

SettingPlace place_of_setting(const std::string& name);

/// The kinds of exchanges that have settings of their own.
enum class ExchangeKind : std::uint8_t { gradients, gossip, multistep };

/// Returns "gradients", "gossip" or "multistep training".
std::string_view name_of(ExchangeKind kind) noexcept;

/// Returns true if a setting of an exchange has an effect on this kind.
bool has_effect_on(ExchangeKind kind, const std::string& name);

/// Throws ErrorKind::usage for a variable by which the user asks for something that exchanges of
/// this kind do not do, such as multistep training in a program that exchanges gradients.
void check_wishes(ExchangeKind kind, const Environment& environment);

}  // namespace fastgpu::comm
