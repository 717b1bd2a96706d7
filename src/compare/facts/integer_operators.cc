#include "compare/facts/integer_operators.h"

#include <string>

#include "compare/names.h"

namespace opdump::compare {

bool computes_with_levels(std::string_view type) { return type.starts_with("QLinear") || type == "QGemm"; }

bool computes_with_integers(std::string_view type) {
  constexpr std::string_view kDynamic = "DynamicQuantize";
  return computes_with_levels(type) || type.starts_with("MatMulInteger") || type.ends_with("Integer") ||
         type == "QAttention" || (type.starts_with(kDynamic) && type != "DynamicQuantizeLinear");
}

bool serves_integers(const dump::OperatorRun& run) {
  return computes_with_levels(run.type) || run.type.ends_with("Integer") ||
         operator_name(run).find(kIntegerName) != std::string::npos ||
         operator_name(run).ends_with(kConvBiasName);
}

std::optional<std::uint32_t> find_integer_operator(const dump::Runs& runs) {
  for (std::uint32_t i = 0; i < runs.size(); ++i)
    if (computes_with_integers(runs.without_slots(i).type)) return i;
  return std::nullopt;
}

}  // namespace opdump::compare
