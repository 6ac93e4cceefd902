#include "cloudsim/apis/aws/xml.hpp"

#include <pugixml.hpp>
#include <sstream>

namespace fastgpu::cloudsim::aws {
namespace {

void put(pugi::xml_node node, const Json& value) {
  if (value.is_object()) {
    for (const auto& [name, inner] : value.items())
      put(node.append_child(name.c_str()), inner);
  } else if (value.is_array()) {
    for (const Json& inner : value)
      put(node.append_child("item"), inner);
  } else {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    node.append_child(pugi::node_pcdata).set_value(text.c_str());
  }
}

}  // namespace

std::string to_xml(const std::string& root, const std::string& name_space, const Json& fields) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  pugi::xml_node top = document.append_child(root.c_str());
  if (!name_space.empty()) top.append_attribute("xmlns") = name_space.c_str();
  put(top, fields);
  std::ostringstream out;
  document.save(out, "", pugi::format_raw);
  return out.str();
}

}  // namespace fastgpu::cloudsim::aws
