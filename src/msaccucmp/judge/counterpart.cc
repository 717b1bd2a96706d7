// Where the ground truth of a tensor is, and what lies there.
#include <set>
#include <utility>

#include "base/text/concat.h"
#include "msaccucmp/judge/group_compare.h"
#include "msaccucmp/judge/slices.h"
#include "msaccucmp/log.h"
#include "msaccucmp/read/file_times.h"

namespace opdump::msaccucmp {
namespace {

using format::FusionOp;

Outcome<OperatorOutput> source_of(const FusionRules& rules, const FusionOp& op, std::size_t index, Log& log) {
  OPDUMP_TRY(const InputEdge edge, input_edge(op, index, log));
  if (auto found = rules.find(edge.name)) return OperatorOutput{std::move(*found), edge.index};
  Failure failure{Status::invalid_parameter, "There is no \"" + edge.name + "\" in the fusion rule file."};
  log.warn(failure.message);
  return failure;
}

bool only_moves(const FusionOp& op) { return op.type == "Cast" || op.type == "TransData"; }

}  // namespace

Outcome<OperatorOutput> find_source(const GroupComparison& comparison, const RuleOp& rule, std::size_t index,
                                    bool is_input, Log& log) {
  OperatorOutput place{rule, index};
  if (is_input) {
    OPDUMP_TRY(place, source_of(comparison.rules, rule.op, index, log));
  }
  std::set<std::pair<std::uint32_t, std::size_t>> seen;
  while (only_moves(place.rule.op)) {
    if (!seen.emplace(place.rule.number, place.index).second)
      return log.fail(Status::json_content, "The inputs of \"" + rule.op.name + "\" run in a circle.");
    OPDUMP_TRY(place, source_of(comparison.rules, place.rule.op, place.index, log));
  }
  return place;
}

Outcome<OriginTensor> find_origin(const GroupComparison& comparison, const RuleOp& rule, std::size_t index,
                                  bool is_input, Log& log) {
  OPDUMP_TRY(const OperatorOutput place, find_source(comparison, rule, index, is_input, log));
  OPDUMP_TRY(OriginTensor origin, origin_of(place.rule.op, place.index, log));
  const std::string& op = rule.op.name;
  log.info(concat({"[", op, "] Left(", op, is_input ? ":input:" : ":output:", std::to_string(index),
                   ") <======> Right(", origin.name, ":output:", std::to_string(origin.index), ")"}));
  return origin;
}

Outcome<DumpedOperator> read_operator(const DumpFolder& folder, const std::string& op,
                                      std::optional<std::int64_t> output, Log& log) {
  OPDUMP_TRY(const OperatorFiles files, folder.find(op, output));
  report_files(folder, op, files, log);
  return read_slices(files, log);
}

Outcome<GoldenTensor> read_golden(const GroupComparison& comparison, const std::string& op,
                                  OriginTensor origin, Log& log) {
  const bool is_npu = comparison.golden.kind() == DumpKind::npu;
  std::optional<std::int64_t> output;
  if (!is_npu) output = origin.index;
  OPDUMP_TRY(DumpedOperator dumped, read_operator(comparison.golden, origin.name, output, log));
  const std::size_t index = is_npu ? place_of(origin.index, dumped.outputs.size()) : 0;
  if (index >= dumped.outputs.size()) {
    log.error("[" + op + "] The output index (" + std::to_string(origin.index) + ") is out of range [0, " +
              std::to_string(dumped.outputs.size()) + "). Please check the index.");
    return Failure{Status::out_of_bounds, ""};
  }
  GoldenTensor golden{std::move(origin), dumped.path, std::move(dumped.outputs[index])};
  if (is_npu) {
    golden.origin.format = model::format_name(golden.tensor.format);
    const auto dims = std::as_const(golden.tensor.shape).dims();
    golden.origin.shape.assign(dims.begin(), dims.end());
  }
  return golden;
}

}  // namespace opdump::msaccucmp
