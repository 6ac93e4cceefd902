#include "provision/providers/aws/xml.hpp"

namespace fastgpu::provision::aws {

std::unique_ptr<pugi::xml_document> parse_xml(const std::string& text) {
  auto document = std::make_unique<pugi::xml_document>();
  const auto result =
      document->load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!result || !document->document_element()) return nullptr;
  return document;
}

std::vector<pugi::xml_node> items(const pugi::xml_node& parent, const char* name) {
  std::vector<pugi::xml_node> found;
  for (const pugi::xml_node& item : parent.child(name).children("item"))
    found.push_back(item);
  return found;
}

}  // namespace fastgpu::provision::aws
