// The JSON of the parts of records. Only src/state includes this.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/json.hpp"
#include "state/model.hpp"

namespace fastgpu::state {

/// The access to texts that records were read from.
struct RecordText {
  /// Returns "" if nothing was read.
  static std::string of(const ReadText& text) { return text.text_ ? *text.text_ : ""; }
  /// Returns the text that is kept; it is not copied again.
  static std::shared_ptr<const std::string> keep(ReadText& text, std::string read) {
    text.text_ = std::make_shared<const std::string>(std::move(read));
    return text.text_;
  }
};

// Reading throws ErrorKind::local for text that fastgpu cannot have written, but ErrorKind::usage
// for a wrong link rate. Putting writes a part into an object, which keeps its other keys.

LocalSpec parse_local_spec(const std::string& text);
void put(nlohmann::json& object, const LocalSpec& spec);

StaticSpec parse_static_spec(const std::string& text);
void put(nlohmann::json& object, const StaticSpec& spec);

CloudSpec parse_cloud_spec(const std::string& text);
void put(nlohmann::json& object, const CloudSpec& spec);

CloudPlacement parse_cloud_placement(const std::string& text);
void put(nlohmann::json& object, const CloudPlacement& placement);

/// Returns the guards in the text of a provider's part; none for an empty text.
Guards parse_guards(const std::string& text);
void put(nlohmann::json& object, const Guards& guards);

/// Returns the scheduler in the text of a provider's part; none for an empty text.
Scheduler scheduler_in(const std::string& text);
void put(nlohmann::json& object, Scheduler scheduler);

/// Returns the text of an intent's detail. Fields of a newer fastgpu stay.
std::string detail_text_of(const Intent& intent);
/// Reads the detail of an intent, whose action and subject are known. Throws nothing for a damaged
/// text: each use of the detail throws.
void read_detail(Intent& intent, std::string text);

/// Returns the text of an object. Bytes that are not UTF-8 become replacement characters.
std::string text_of(const nlohmann::json& object);

}  // namespace fastgpu::state
