// The text of the details of intents.

#include "base/json.hpp"
#include "base/numbers.hpp"
#include "state/part_json.hpp"

namespace fastgpu::state {
namespace {

using nlohmann::json;

/// Reads an image. What is missing is empty: the cloud finds the image by the rest.
ImageOrder parse_image_order(const std::string& text) {
  const json object = try_parse_json(text);
  const auto word = [&](const char* key) {
    return object.is_object() && object.contains(key) && object[key].is_string()
               ? object[key].get<std::string>()
               : std::string();
  };
  const auto asked = object.is_object() ? object.find("asked") : object.end();
  return {.region = word("region"),
          .machine = word("machine"),
          .name = word("name"),
          .environment = word("environment"),
          .made_of = word("made_of"),
          .owner = word("owner"),
          .was_asked = object.is_object() && asked != object.end() && *asked == true};
}

void put(json& object, const ImageOrder& order) {
  object["region"] = order.region;
  object["machine"] = order.machine;
  object["name"] = order.name;
  object["environment"] = order.environment;
  object["made_of"] = order.made_of;
  object["owner"] = order.owner;
  object.erase("asked");
  if (order.was_asked) object["asked"] = true;
}

IntentDetail parse_node_index(const std::string& text) {
  const auto index = to_number<int>(text);
  if (!index) return {};
  return NodeIndex{*index};
}

IntentDetail parse_detail(std::string_view action, const std::string& text) {
  if (text.empty()) return {};
  if (action == kTryPlace) return parse_cloud_placement(text);
  if (action == kLateMachine) return parse_node_index(text);
  if (action == kBakeImage) return parse_image_order(text);
  return {};
}

}  // namespace

std::string detail_text_of(const Intent& intent) {
  const std::string read = RecordText::of(intent.detail_text);
  if (!intent.detail.is_new()) return read;
  const IntentDetail& detail = *intent.detail;
  if (const auto* node = std::get_if<NodeIndex>(&detail)) return std::to_string(node->value);
  json object;
  if (const auto* placement = std::get_if<CloudPlacement>(&detail)) {
    put(object, *placement);
  } else if (const auto* order = std::get_if<ImageOrder>(&detail)) {
    object = try_parse_json(read);
    if (!object.is_object()) object = json::object();
    put(object, *order);
  } else {
    return {};
  }
  return text_of(object);
}

void read_detail(Intent& intent, std::string text) {
  try {
    intent.detail = Recorded<IntentDetail>::as_read(parse_detail(intent.action, text));
  } catch (const Error& e) {
    intent.detail =
        Recorded<IntentDetail>::unreadable(e.during("cluster '" + intent.subject + "'"));
  }
  RecordText::keep(intent.detail_text, std::move(text));
}

}  // namespace fastgpu::state
