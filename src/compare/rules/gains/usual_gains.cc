#include "compare/rules/gains/usual_gains.h"

#include <utility>

#include "compare/rules/gains/usual_limits.h"

namespace opdump::compare {

const GainTable& usual_gains() {
  static const GainTable table = [] {
    auto gains = GainTable::parse_limits(kUsualLimits);
    return gains ? std::move(*gains) : GainTable();
  }();
  return table;
}

}  // namespace opdump::compare
