#include "compare/gains/usual_gains.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/json.h"
#include "compare/gains/usual_limits.h"

namespace opdump::compare {

const GainTable& usual_gains() {
  static const GainTable table = [] {
    const nlohmann::json limits = parse_json(kUsualLimits);
    auto gains =
        GainTable::parse(limits.is_object() ? json_text(limits.value("gains", nlohmann::json())) : "");
    return gains ? std::move(*gains) : GainTable();
  }();
  return table;
}

}  // namespace opdump::compare
