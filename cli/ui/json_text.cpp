#include "cli/ui/json_text.hpp"

#include "base/utf8.hpp"

namespace fastgpu::cli {

std::string json_text(const nlohmann::ordered_json& value, int indent) {
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  std::string text = value.dump(indent, ' ', false, kReplace);
  if (!needs_escape(text)) return text;
  text = {};  // Frees the memory: a document may be large.
  return value.dump(indent, ' ', true, kReplace);
}

}  // namespace fastgpu::cli
