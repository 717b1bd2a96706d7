// Graphs as JSON, and the rules that are made of them.
#include "compare/fusion_rules.h"
#include "format/fusion_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opdump;
  const std::string text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(format::decode_graph_names(text, "fuzz"));
  const auto file = format::decode_fusion_json(text, "fuzz");
  if (!file) return 0;
  compare::Journal journal;
  compare::FusionRules rules(*file);
  rules.filter_quantised(journal);
  for (const compare::RuleOp& rule : rules.ops())
    for (std::size_t i = 0; i < rule.op.inputs.size(); ++i)
      static_cast<void>(compare::input_edge(rule.op, i, journal));
  static_cast<void>(compare::merge_unfused(rules, rules, journal));
  static_cast<void>(compare::merge_quantised(compare::FusionRules(*file), rules, journal));
  return 0;
}
