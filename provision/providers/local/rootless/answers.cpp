#include "provision/providers/local/rootless/answers.hpp"

#include "base/json.hpp"

namespace fastgpu::provision::local {
namespace {

using nlohmann::json;

// Parses text that this program has just written: at most its end can be missing.
json parse_answer(const std::string& text) {
  json parsed = try_parse_json(text);
  if (!parsed.is_object())
    throw Error(ErrorKind::local, "a helper process died before it answered: try again");
  return parsed;
}

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

json encode_error(const Error& error) {
  return {{"kind", static_cast<int>(error.kind())}, {"message", error.what()}};
}

Error decode_error(const json& value) {
  return {static_cast<ErrorKind>(field<int>(value, "kind")), field<std::string>(value, "message")};
}

json encode_instance(const Instance& instance) {
  return {{"index", instance.index},     {"id", instance.id},
          {"token", instance.token},     {"state", static_cast<int>(instance.state)},
          {"address", instance.address}, {"private_address", instance.private_address},
          {"port", instance.port}};
}

Instance decode_instance(const json& value) {
  Instance instance;
  instance.index = field<int>(value, "index");
  instance.id = field<std::string>(value, "id");
  instance.token = field<std::string>(value, "token");
  instance.state = static_cast<InstanceState>(field<int>(value, "state"));
  instance.address = field<std::string>(value, "address");
  instance.private_address = field<std::string>(value, "private_address");
  instance.port = field<std::uint16_t>(value, "port");
  return instance;
}

}  // namespace

std::string to_answer(const std::string& value) {
  return dump({{"value", value}});
}

std::string to_answer(const Error& error) {
  return dump({{"error", encode_error(error)}});
}

std::string from_answer(const std::string& answer) {
  const json parsed = parse_answer(answer);
  if (const auto error = parsed.find("error"); error != parsed.end()) throw decode_error(*error);
  return field<std::string>(parsed, "value");
}

std::string encode_results(const std::vector<HostResult<Instance>>& results) {
  json list = json::array();
  for (const auto& result : results) {
    json one = {{"host", result.host.value}};
    if (result.ok()) {
      one["instance"] = encode_instance(result.value());
    } else {
      one["error"] = encode_error(result.error());
    }
    list.push_back(std::move(one));
  }
  return dump({{"results", list}});
}

std::vector<HostResult<Instance>> decode_results(const std::string& text) {
  std::vector<HostResult<Instance>> results;
  const json parsed = parse_answer(text);
  for (const json& one : parsed.at("results")) {
    const NodeName host{field<std::string>(one, "host")};
    if (const auto error = one.find("error"); error != one.end()) {
      results.push_back({host, decode_error(*error)});
    } else {
      results.push_back({host, decode_instance(one.at("instance"))});
    }
  }
  return results;
}

}  // namespace fastgpu::provision::local
