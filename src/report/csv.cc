#include "report/csv.h"

#include <array>
#include <charconv>
#include <cmath>

#include "base/text/text.h"
#include "compare/names.h"

namespace opdump::report {
namespace {

using compare::SlotComparison;

void append_field(std::string& out, std::string_view text) {
  if (!out.empty() && out.back() != '\n') out.push_back(',');
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out.append(text);
    return;
  }
  out.push_back('"');
  for (const char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
}

void append_number(std::string& out, double value) {
  if (!std::isfinite(value)) return append_field(out, format_g(value));
  std::array<char, 32> buffer;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  (void)error;  // the shortest form of a double has at most 24 characters
  append_field(out, {buffer.data(), static_cast<std::size_t>(end - buffer.data())});
}

void append_metrics(std::string& out, const SlotComparison& slot) {
  if (!slot.metrics) {
    for (int i = 0; i < 8; ++i) append_field(out, "");
    return;
  }
  const math::Metrics& m = *slot.metrics;
  for (const double value : {m.cosine, m.max_abs, m.max_rel, m.relative_l2, m.mean_abs, m.rmse})
    append_number(out, value);
  append_field(out, std::to_string(m.mismatch_count));
  append_field(out, std::to_string(m.count));
}

}  // namespace

std::string_view csv_header() {
  return "rank,graph,step,phase,operator,type,slot,dtype,shape,verdict,cosine,max_abs,max_rel,relative_l2,"
         "mean_abs,rmse,mismatch_count,count,source,reason\r\n";
}

void append_csv_rows(std::string& out, const compare::OperatorComparison& op) {
  const dump::OperatorRun& run = op.run();
  for (const SlotComparison& slot : op.slots) {
    std::string row;
    row += std::to_string(run.rank);  // the first field: append_field would not know that it is one
    append_field(row, std::to_string(run.graph_id));
    append_field(row, std::to_string(run.step));
    append_field(row, run.op != nullptr ? model::kPhaseNames[static_cast<std::size_t>(run.op->phase)] : "");
    append_field(row, compare::operator_name(run));
    append_field(row, run.type);
    append_field(row, compare::slot_name(slot));
    append_field(row, slot.dtype == model::DType::undefined ? "" : model::dtype_info(slot.dtype).name);
    append_field(row, slot.shape ? model::format_shape(*slot.shape) : "");
    append_field(row, compare::verdict_name(slot.verdict));
    append_metrics(row, slot);
    append_field(row, run.op != nullptr ? model::format_source(*run.op) : "");
    append_field(row, slot.reason);
    out.append(row).append("\r\n");
  }
}

}  // namespace opdump::report
