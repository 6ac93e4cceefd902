#include "options.hpp"

#include <charconv>
#include <string_view>

namespace digits {
namespace {

namespace fs = std::filesystem;

std::uint64_t number(const std::string& option, std::string_view text, std::uint64_t least,
                     std::uint64_t most) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && value >= least && value <= most) return value;
  throw UsageError(option + " is '" + std::string(text) + "', not a number from " +
                   std::to_string(least) + " to " + std::to_string(most));
}

void set(Options& options, const std::string& option, std::string_view value) {
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

}  // namespace

const char* const kHelp =
    "usage: fastgpu-digits [--global-batch N] [--epochs N] [--seed N] [--data FILE] [--report "
    "FILE]\n"
    "\n"
    "Trains a small network on handwritten digits, alone or as one rank of many.\n"
    "  --global-batch N  samples of one step, over all ranks together (64)\n"
    "  --epochs N        passes over the training set (30)\n"
    "  --seed N          of the initial parameters and of the order of samples (1)\n"
    "  --data FILE       lines of 64 pixels and a digit (found beside the program)\n"
    "  --report FILE     rank 0 writes the result there as JSON\n";

Options parse_options(std::span<const char* const> arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string option = arguments[i];
    if (option == "--help" || option == "-h") {
      options.wants_help = true;
      continue;
    }
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
  if (options.data.empty()) options.data = default_data();
  return options;
}

fs::path default_data() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  fs::path built = folder / "digits.csv";
  if (fs::exists(built, error)) return built;
  return folder.parent_path() / "share" / "fastgpu" / "digits" / "digits.csv";
}

}  // namespace digits
