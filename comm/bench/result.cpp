#include "comm/bench/result.hpp"

#include "base/json.hpp"

namespace fastgpu::comm::bench {
namespace {

StepFigures parse_step(const nlohmann::json& line) {
  return {.model = field<std::string>(line, "model"),
          .gradients = field<std::size_t>(line, "gradients"),
          .buckets = field<std::size_t>(line, "buckets"),
          .negotiation_bytes = field<double>(line, "negotiation_bytes"),
          .seconds = field<std::vector<double>>(line, "step_seconds")};
}

}  // namespace

BenchResult result_of(const std::string& library, const BenchCall& call, int ranks,
                      double seconds) {
  const double counted = call.collective == BenchCollective::ping_pong ? seconds / 2 : seconds;
  const double algbw = static_cast<double>(call.bytes().count) / counted;
  return {.library = library,
          .collective = std::string(name_of(call.collective)),
          .dtype = std::string(comm::name_of(call.type)),
          .ranks = ranks,
          .bytes = call.bytes(),
          .seconds = counted,
          .algbw = algbw,
          .busbw = algbw * bus_factor(call.collective, ranks)};
}

std::string to_json(const BenchResult& result) {
  nlohmann::ordered_json line = {{"library", result.library},   {"collective", result.collective},
                                 {"dtype", result.dtype},       {"ranks", result.ranks},
                                 {"bytes", result.bytes.count}, {"seconds", result.seconds},
                                 {"algbw", result.algbw},       {"busbw", result.busbw}};
  if (result.step) {
    line["model"] = result.step->model;
    line["gradients"] = result.step->gradients;
    line["buckets"] = result.step->buckets;
    line["negotiation_bytes"] = result.step->negotiation_bytes;
    line["steps"] = result.step->seconds.size();
    line["step_seconds"] = result.step->seconds;
  }
  if (!result.transport.empty()) line["transport"] = result.transport;
  if (!result.codec.empty()) line["codec"] = result.codec;
  if (result.network_bytes) line["network_bytes"] = *result.network_bytes;
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

BenchResult parse_result(const std::string& line) {
  const nlohmann::json object = parse_json(line, "a line of the measuring program");
  BenchResult result{.library = field<std::string>(object, "library"),
                     .collective = field<std::string>(object, "collective"),
                     .dtype = field<std::string>(object, "dtype"),
                     .ranks = field<int>(object, "ranks"),
                     .bytes = {field<std::uint64_t>(object, "bytes")},
                     .seconds = field<double>(object, "seconds"),
                     .algbw = field<double>(object, "algbw"),
                     .busbw = field<double>(object, "busbw")};
  if (result.collective == kGradients) result.step = parse_step(object);
  if (object.contains("codec")) result.codec = field<std::string>(object, "codec");
  if (object.contains("network_bytes"))
    result.network_bytes = field<double>(object, "network_bytes");
  return result;
}

}  // namespace fastgpu::comm::bench
