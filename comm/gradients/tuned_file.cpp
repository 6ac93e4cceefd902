// The half of the tuner's cache that reads and writes.
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/json.hpp"
#include "base/names.hpp"
#include "comm/gradients/tuner_cache.hpp"

namespace fastgpu::comm {
namespace {

constexpr const char* kSchema = "fastgpu.comm.tuned/2";
constexpr std::string_view kUsual = "usual";

/// Returns the algorithm of that name. Throws ErrorKind::usage for an unknown one.
std::optional<Algorithm> algorithm_of(const std::string& name) {
  if (name == kUsual) return std::nullopt;
  const auto algorithm = algorithm_named(name);
  if (!algorithm) throw Error(ErrorKind::usage, "there is no algorithm " + printable(name));
  return algorithm;
}

}  // namespace

std::optional<TunerSetting> load_setting(const std::filesystem::path& file) try {
  const auto json = parse_json(read_file(file).value_or(""), file.string());
  if (field<std::string>(json, "schema") != kSchema) return std::nullopt;
  const TunerSetting setting{field<int>(json, "flows"),
                             field<int>(json, "lanes"),
                             {field<std::uint64_t>(json, "bucket_bytes")},
                             {algorithm_of(field<std::string>(json, "algorithm")),
                              field<std::uint8_t>(json, "piece_log2")}};
  return is_possible(setting) ? std::optional(setting) : std::nullopt;
} catch (const Error&) {
  return std::nullopt;  // A file of another program, or half of one, costs only a few steps.
}

void store_setting(const std::filesystem::path& file, const TunerSetting& setting) {
  std::error_code error;
  std::filesystem::create_directories(file.parent_path(), error);
  const std::filesystem::path fresh = file.string() + "." + std::to_string(::getpid());
  std::ofstream out(fresh);
  out << nlohmann::json{{"schema", kSchema},
                        {"flows", setting.flows},
                        {"lanes", setting.streams},
                        {"bucket_bytes", setting.bucket.count},
                        {"algorithm",
                         std::string(setting.plan.algorithm ? name_of(*setting.plan.algorithm)
                                                            : kUsual)},
                        {"piece_log2", setting.plan.piece_log2}}
             .dump(2)
      << "\n";
  out.close();
  if (!out) throw system_error("writing " + fresh.string(), errno);
  std::filesystem::rename(fresh, file, error);
  if (error) throw system_error("renaming " + fresh.string(), error.value());
}

}  // namespace fastgpu::comm
