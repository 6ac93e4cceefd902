#include "launcher/library_settings.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "base/error.hpp"
#include "base/names.hpp"
#include "base/split.hpp"

namespace fastgpu::launcher {
namespace {

/// Returns true for a parameter of mpirun's own processes, not of the ranks.
bool is_of_the_runtime(std::string_view name) {
  constexpr std::array kPrefixes = {"plm_", "orte_",   "prte_",    "oob_",    "rmaps_", "ras_",
                                    "rml_", "routed_", "grpcomm_", "odls_",   "ess_",   "errmgr_",
                                    "iof_", "rtc_",    "regx_",    "schizo_", "state_", "hwloc_"};
  return std::ranges::any_of(kPrefixes,
                             [&](const char* prefix) { return name.starts_with(prefix); });
}

/// Returns true if fastgpu leaves these interfaces out anyway: loopback and bridges of this host.
bool are_left_out(std::string_view list) {
  return std::ranges::all_of(split(list, ','), [](std::string_view name) {
    return name == "lo" || name.starts_with("127.") || name.starts_with("docker") ||
           name.starts_with("virbr") || name.starts_with("br-");
  });
}

bool is_capital(char c) {
  return c >= 'A' && c <= 'Z';
}

}  // namespace

bool is_set_anyway(std::string_view name, std::string_view value) {
  return name == "plm_rsh_no_tree_spawn" || name == "orte_keep_fqdn_hostnames" ||
         (name.ends_with("_tcp_if_exclude") && are_left_out(value));
}

std::string_view reason_against_parameter(std::string_view name) {
  if (name == "btl_tcp_if_exclude")
    return "the network that joins the nodes is used; btl_tcp_if_include chooses another";
  if (is_of_the_runtime(name))
    return "leave it out: fastgpu sets up the connections of mpirun itself";
  return {};
}

void check_parameter_name(const std::string& name) {
  const bool is_name = !name.empty() && std::ranges::all_of(name, [](char c) {
    return is_ascii_letter_or_digit(c) || c == '_';
  });
  if (!is_name)
    throw Error(ErrorKind::usage, "'" + printable(name) +
                                      "' is not a name of a parameter of Open MPI: it has letters, "
                                      "digits and '_'");
  if (name.starts_with(kMpiPrefix))
    throw Error(ErrorKind::usage,
                "'" + name + "' is the name of a variable: leave out " + std::string(kMpiPrefix));
}

void check_nccl_name(const std::string& name) {
  const bool is_name = !name.empty() && std::ranges::all_of(name, [](char c) {
    return is_capital(c) || is_ascii_digit(c) || c == '_';
  });
  if (!is_name)
    throw Error(ErrorKind::usage, "'" + printable(name) +
                                      "' is not a name of a setting of NCCL: it has capital "
                                      "letters, digits and '_', such as DEBUG for NCCL_DEBUG");
  if (name.starts_with(kNcclPrefix))
    throw Error(ErrorKind::usage,
                "'" + name + "' is the name of a variable: leave out " + std::string(kNcclPrefix));
}

}  // namespace fastgpu::launcher
