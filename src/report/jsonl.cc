#include "report/jsonl.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text/json.h"
#include "base/text/text.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "compare/rules/ledger.h"
#include "report/summary.h"

namespace opdump::report {
namespace {

using Json = nlohmann::ordered_json;
using compare::SlotComparison;

Json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : format_g(value);
}

std::string line(const Json& record) { return json_text(record) + "\n"; }

void add_operator(Json& record, const dump::OperatorRun& run) {
  record["rank"] = run.rank;
  record["graph"] = run.graph_id;
  record["step"] = run.step;
  if (run.op != nullptr) record["phase"] = model::kPhaseNames[static_cast<std::size_t>(run.op->phase)];
  record["operator"] = compare::operator_name(run);
  record["type"] = run.type;
  if (run.op != nullptr && !run.op->source_file.empty()) record["source"] = model::format_source(*run.op);
}

void add_metrics(Json& record, const SlotComparison& slot) {
  if (!slot.metrics) {
    for (const char* key : {"cosine", "max_abs", "max_rel", "relative_l2", "mean_abs", "rmse",
                            "mismatch_count", "nan_mismatch_count", "count"})
      record[key] = nullptr;
    return;
  }
  const math::Metrics& m = *slot.metrics;
  record["cosine"] = number(m.cosine);
  record["max_abs"] = number(m.max_abs);
  record["max_rel"] = number(m.max_rel);
  record["relative_l2"] = number(m.relative_l2);
  record["mean_abs"] = number(m.mean_abs);
  record["rmse"] = number(m.rmse);
  record["mismatch_count"] = m.mismatch_count;
  record["nan_mismatch_count"] = m.nan_mismatch_count;
  record["count"] = m.count;
  if (m.mismatch_count == 0) return;
  record["max_abs_index"] = m.max_abs_index;
  record["max_abs_golden"] = number(m.max_abs_golden);
  record["max_abs_actual"] = number(m.max_abs_actual);
}

}  // namespace

void append_json_lines(std::string& out, const compare::OperatorComparison& op) {
  for (const SlotComparison& slot : op.slots) {
    Json record;
    record["schema_version"] = kJsonSchemaVersion;
    record["record"] = "slot";
    add_operator(record, op.run());
    if (op.golden != nullptr && op.actual != nullptr && op.golden->name != op.actual->name)
      record["actual_operator"] = compare::operator_name(*op.actual);
    record["paired_by"] = compare::kPairedByNames[static_cast<std::size_t>(op.paired_by)];
    if (op.is_across && op.golden != nullptr && op.actual != nullptr)
      record["confidence"] = number(std::round(op.confidence * 100) / 100);
    record["slot"] = compare::slot_name(slot);
    if (slot.dtype != model::DType::undefined) record["dtype"] = model::dtype_info(slot.dtype).name;
    if (slot.shape) record["shape"] = std::vector(slot.shape->dims().begin(), slot.shape->dims().end());
    record["verdict"] = compare::verdict_name(slot.verdict);
    record["operator_verdict"] = compare::verdict_name(op.verdict);
    if (const std::string_view rule = slot.rule.empty() ? op.rule : slot.rule; !rule.empty())
      record["rule"] = rule;
    record["from_statistics"] = slot.from_statistics;
    if (slot.sharded != nullptr) record["wrong_ranks"] = slot.wrong_ranks;
    add_metrics(record, slot);
    if (!slot.reason.empty()) record["reason"] = slot.reason;
    out += line(record);
  }
}

std::string summary_json_line(const compare::Comparison& comparison, std::string_view golden,
                              std::string_view actual, std::uint64_t left_out) {
  const compare::Coverage& c = comparison.coverage;
  Json record;
  record["schema_version"] = kJsonSchemaVersion;
  record["record"] = "summary";
  record["outcome"] = compare::kOutcomeNames[static_cast<std::size_t>(comparison.outcome)];
  record["golden"] = golden;
  record["actual"] = actual;
  record["golden_operators"] = c.golden_operators;
  record["actual_operators"] = c.actual_operators;
  record["paired_operators"] = c.paired_operators;
  record["golden_tensors"] = c.golden_slots;
  record["compared_tensors"] = c.compared_slots;
  record["skipped_tensors"] = c.skipped_slots;
  record["compared_bytes"] = c.compared_bytes;
  record["forward_share"] = c.forward_share;
  Json verdicts = Json::object();
  for (std::size_t i = 0; i < comparison.verdicts.size(); ++i)
    verdicts[std::string(compare::kVerdictNames[i])] = comparison.verdicts[i];
  record["verdicts"] = std::move(verdicts);
  record["first_bad"] = nullptr;
  if (comparison.first_bad) {
    const compare::OperatorComparison& op = *comparison.first_bad;
    Json bad;
    add_operator(bad, op.run());
    bad["verdict"] = compare::verdict_name(op.verdict);
    if (const compare::Accusation* accusation = compare::first_bad(comparison.accusations))
      bad["rule"] = accusation->rule;
    if (const compare::SlotComparison* slot = compare::key_slot(op);
        slot != nullptr && slot->sharded != nullptr)
      bad["wrong_ranks"] = slot->wrong_ranks;
    record["first_bad"] = std::move(bad);
  }
  if (!comparison.trace.empty()) {
    Json trace = Json::array();
    for (const auto& [rule, said] : comparison.trace) trace.push_back({{"rule", rule}, {"said", said}});
    record["trace"] = std::move(trace);
  }
  record["left_out"] = left_out;
  record["incomplete"] = comparison.incomplete;
  Json notes = Json::array(), note_rules = Json::array();
  for (const compare::Note& note : comparison.notes) {
    notes.push_back(note.text);
    note_rules.push_back(note.rule.empty() ? Json(nullptr) : Json(note.rule));
  }
  record["notes"] = std::move(notes);
  record["note_rules"] = std::move(note_rules);
  record["text"] = conclusion(comparison);
  return line(record);
}

}  // namespace opdump::report
