#include "comm/transports/message_type.hpp"

#include "base/error.hpp"

namespace fastgpu::comm {

namespace {

ElementType type_of_shape(const MessageShape& shape) noexcept {
  return has_type(shape.tag) ? type_in(shape.tag) : ElementType::uint8;
}

std::string count_of(const MessageShape& shape) {
  return std::to_string(shape.bytes / size_of(type_of_shape(shape)));
}

}  // namespace

std::string text_of(const MessageShape& shape) {
  const ElementType type = type_of_shape(shape);
  const std::string name = type == ElementType::uint8 ? "bytes" : std::string(name_of(type));
  return count_of(shape) + " " + name;
}

void refuse_shape(const MessageShape& sent, const MessageShape& expected) {
  const bool have_types = has_type(sent.tag) && has_type(expected.tag);
  const bool is_same_type = type_of_shape(sent) == type_of_shape(expected);
  throw Error(have_types ? ErrorKind::usage : ErrorKind::remote,
              "it sent " + text_of(sent) + " where " +
                  (is_same_type ? count_of(expected) : text_of(expected)) + " were expected");
}

}  // namespace fastgpu::comm
