// The parameters of Open MPI and the settings of NCCL that users choose. The libraries of the ranks
// read both from their environment.
#pragma once

#include <string>
#include <string_view>

namespace fastgpu::launcher {

/// The beginning of the names of the variables.
inline constexpr std::string_view kMpiPrefix = "OMPI_MCA_";
inline constexpr std::string_view kNcclPrefix = "NCCL_";

/// Returns true if fastgpu sets this parameter of Open MPI so anyway: it needs no variable.
bool is_set_anyway(std::string_view name, std::string_view value);

/// Returns why this parameter of Open MPI cannot be chosen, with a remedy; empty if it can.
std::string_view reason_against_parameter(std::string_view name);

/// Throws ErrorKind::usage unless this can be the name of a parameter of Open MPI, such as "btl".
void check_parameter_name(const std::string& name);

/// Throws ErrorKind::usage unless this can be the name of a setting of NCCL, such as "DEBUG".
void check_nccl_name(const std::string& name);

}  // namespace fastgpu::launcher
