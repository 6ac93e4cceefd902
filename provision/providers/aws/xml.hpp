// XML from the network, read within limits.
#pragma once

#include <memory>
#include <pugixml.hpp>
#include <string>
#include <vector>

namespace fastgpu::provision::aws {

/// Parses a document; null for anything but XML. Entities that it declares are not expanded, so
/// that a small document stays small.
std::unique_ptr<pugi::xml_document> parse_xml(const std::string& text);

/// Returns the members of a list: `parent`/`name`/item.
std::vector<pugi::xml_node> items(const pugi::xml_node& parent, const char* name);

}  // namespace fastgpu::provision::aws
