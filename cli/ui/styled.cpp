#include "cli/ui/styled.hpp"

#include <utility>

#include "base/utf8.hpp"

namespace fastgpu::cli {

Styled::Styled(std::string plain)
    : text_(needs_escape(plain) ? escaped(plain, Layout::kept) : std::move(plain)) {}

Styled Styled::painted(std::string_view plain, Color color, bool colored) {
  Styled out{std::string(plain)};
  if (colored && color != Color::none)
    out.text_ = std::string(escape(color)) + out.text_ + std::string(kColorEnd);
  return out;
}

Styled& Styled::operator+=(const Styled& more) {
  text_ += more.text_;
  return *this;
}

Styled& Styled::operator+=(std::string_view plain) {
  return *this += Styled(std::string(plain));
}

Styled Styled::indented(std::size_t blanks) const {
  Styled out;
  bool begins = true;
  for (const char c : text_) {
    if (begins) out.text_.append(blanks, ' ');
    out.text_ += c;
    begins = c == '\n';
  }
  return out;
}

}  // namespace fastgpu::cli
