#include "launcher/checks/xid.hpp"

namespace fastgpu::launcher {

std::string xid_text(int code) {
  switch (code) {
    case 48:
      return "a double-bit error of its memory";
    case 62:
      return "a halt of its microcontroller";
    case 63:
      return "a row of its memory was replaced";
    case 64:
      return "a row of its memory could not be replaced";
    case 74:
      return "an error of NVLink";
    case 79:
      return "it has fallen off the bus";
    case 92:
      return "many single-bit errors of its memory";
    case 94:
      return "a contained error of its memory";
    case 95:
      return "an uncontained error of its memory";
    case 119:
    case 120:
      return "its system processor does not answer";
    default:
      return "";
  }
}

bool is_harmless_xid(int code) {
  return code == 63 || code == 92 || code == 94;
}

}  // namespace fastgpu::launcher
