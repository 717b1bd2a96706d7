// JSON as it leaves a result.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace opdump::result {

// One line without spaces. Bytes that are no UTF-8 become U+FFFD.
inline std::string compact(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace opdump::result
