// Graphs as JSON, and the rules that are made of them.
#include "format/graphs/fusion_json.h"
#include "msaccucmp/judge/fusion_rules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opdump;
  const std::string text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(format::decode_graph_names(text, "fuzz"));
  msaccucmp::FusionRules rules, same;
  const auto add = [&](std::size_t graph, format::FusionOp op) -> Result<> {
    OPDUMP_CHECK_OK(same.add(graph, op));
    return rules.add(graph, std::move(op));
  };
  const auto read = format::decode_fusion_json(text, "fuzz", add);
  if (!read) return 0;
  rules.finish();
  same.finish();
  msaccucmp::Log log;
  static_cast<void>(rules.filter_quantised(log));
  for (std::uint32_t op = 0; op < rules.op_count(); ++op) {
    const msaccucmp::RuleOp rule = rules.op(op);
    for (std::size_t i = 0; i < rule.op.inputs.size(); ++i)
      static_cast<void>(msaccucmp::input_edge(rule.op, i, log));
  }
  static_cast<void>(msaccucmp::merge_unfused(rules, rules, log));
  static_cast<void>(msaccucmp::merge_quantised(std::move(same), rules, log));
  return 0;
}
