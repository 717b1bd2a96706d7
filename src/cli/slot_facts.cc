#include "cli/slot_facts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/text/columns.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "compare/names.h"

namespace opdump::cli {

SlotFacts slot_facts(const dump::Slot& slot) {
  SlotFacts facts;
  facts.dtype = slot.dtype;
  facts.shape = slot.shape;
  if (slot.file.empty()) {
    if (slot.statistics.empty())
      facts.trouble = "no data: " + (slot.undumped_reason.empty() ? "not dumped" : slot.undumped_reason);
    return facts;
  }
  const model::DType stored = slot.stored_dtype == model::DType::undefined ? slot.dtype : slot.stored_dtype;
  const bool is_known = slot.part && slot.shape && model::dtype_info(stored).bits > 0;
  if (is_known) return facts;  // when the dump was opened; taking the elements out may take long
  const auto tensor = dump::StoredTensor::read(slot, dump::Alignment::any);
  if (!tensor) {
    facts.trouble = unreadable(tensor.error());
    return facts;
  }
  facts.shape = tensor->view().shape;
  if (facts.dtype == model::DType::undefined) facts.dtype = tensor->view().dtype;
  return facts;
}

std::string unreadable(const Error& error) { return "unreadable: " + error.message(); }

std::string describe(const dump::Slot& slot, const SlotFacts& facts) {
  std::string text(facts.dtype == model::DType::undefined ? "unknown" : model::dtype_info(facts.dtype).name);
  if (facts.shape) text += " " + model::format_shape(*facts.shape);
  if (!slot.format.empty() && slot.format != "DefaultFormat") text += ", " + slot.format;
  if (slot.file.empty() && !slot.statistics.empty()) text += ", statistics only";
  if (!facts.trouble.empty()) text += ", " + facts.trouble;
  return text;
}

std::string describe(const dump::OperatorRun& run) {
  std::string text = run.type;
  if (run.op == nullptr) return text;
  text.append(", ").append(model::kPhaseNames[static_cast<std::size_t>(run.op->phase)]);
  const std::string source = model::format_source(*run.op);
  return source.empty() ? text : text + ", " + source;
}

std::string heading(const dump::OperatorRun& run, std::size_t width) {
  constexpr std::size_t kLeastName = 24;
  std::string more = describe(run);
  if (!more.empty()) more = "  (" + more + ")";
  const std::string name = compare::one_line(compare::operator_name(run));
  if (width == 0) return name + more;
  const std::size_t room = width - std::min(width, display_columns(more));
  return shorten_middle(name, std::max(room, kLeastName)) + more;
}

Json run_json(const dump::OperatorRun& run) {
  Json record;
  record["schema_version"] = 1;
  record["record"] = "operator";
  record["rank"] = run.rank;
  record["graph"] = run.graph_id;
  record["step"] = run.step;
  record["operator"] = compare::operator_name(run);
  record["type"] = run.type;
  if (run.op != nullptr) record["phase"] = model::kPhaseNames[static_cast<std::size_t>(run.op->phase)];
  if (run.op != nullptr && !run.op->source_file.empty()) record["source"] = model::format_source(*run.op);
  return record;
}

Json slot_json(const dump::Slot& slot, const SlotFacts& facts) {
  Json record;
  record["slot"] = compare::slot_name(slot);
  if (facts.dtype != model::DType::undefined) record["dtype"] = model::dtype_info(facts.dtype).name;
  if (facts.shape) record["shape"] = std::vector(facts.shape->dims().begin(), facts.shape->dims().end());
  if (!slot.format.empty()) record["format"] = slot.format;
  if (!slot.file.empty()) record["file"] = slot.file;
  if (slot.timestamp_us != 0) record["timestamp_us"] = slot.timestamp_us;
  if (!facts.trouble.empty()) record["reason"] = facts.trouble;
  return record;
}

Json number_json(const std::string& text) {
  if (const auto integer = parse_int64(text)) return *integer;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const bool is_number = !text.empty() && end == text.c_str() + text.size() && std::isfinite(value) &&
                         text.find_first_not_of("0123456789+-.eE") == std::string::npos;
  return is_number ? Json(value) : Json(text);
}

std::string json_line(const Json& record) { return json_text(record) + "\n"; }

}  // namespace opdump::cli
