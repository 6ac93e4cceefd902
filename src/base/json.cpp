#include "base/json.hpp"

template class nlohmann::basic_json<>;
template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace fastgpu {

template nlohmann::json try_parse_json<nlohmann::json>(std::string_view);
template nlohmann::ordered_json try_parse_json<nlohmann::ordered_json>(std::string_view);
template nlohmann::json parse_json<nlohmann::json>(std::string_view, const std::string&, ErrorKind);
template nlohmann::ordered_json parse_json<nlohmann::ordered_json>(std::string_view,
                                                                   const std::string&, ErrorKind);

}  // namespace fastgpu
