#include "options.hpp"

#include <charconv>
#include <string>
#include <string_view>

namespace training {
namespace {

std::uint64_t number(const std::string& option, std::string_view text, std::uint64_t least,
                     std::uint64_t most) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && value >= least && value <= most) return value;
  throw UsageError(option + " is '" + std::string(text) + "', not a number from " +
                   std::to_string(least) + " to " + std::to_string(most));
}

void set(TrainingOptions& options, const std::string& option, std::string_view value) {
  if (option == "--global-batch")
    options.global_batch = number(option, value, 1, 1'000'000);
  else if (option == "--epochs")
    options.epochs = number(option, value, 1, 1'000'000);
  else if (option == "--seed")
    options.seed = number(option, value, 0, UINT64_MAX);
  else if (option == "--data")
    options.data = value;
  else if (option == "--report")
    options.report = value;
  else
    throw UsageError("unknown argument '" + option + "'; --help lists the known ones");
}

/// Sets an option without a value; returns false for others.
bool set_flag(TrainingOptions& options, std::string_view option) {
  if (option == "--help" || option == "-h")
    options.wants_help = true;
  else if (option == "--json")
    options.wants_json = true;
  else
    return false;
  return true;
}

}  // namespace

TrainingOptions parse_options(const TrainingOptions& defaults,
                              std::span<const char* const> arguments) {
  TrainingOptions options = defaults;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string option = arguments[i];
    if (set_flag(options, option)) continue;
    const std::size_t equals = option.find('=');
    if (equals != std::string::npos) {
      const std::string value = option.substr(equals + 1);
      option.resize(equals);
      set(options, option, value);
    } else {
      const bool has_value = i + 1 < arguments.size();
      set(options, option, has_value ? arguments[++i] : "");
    }
  }
  return options;
}

}  // namespace training
