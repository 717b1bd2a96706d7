// compare() and its result.
#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "compare/compare.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "model/position.h"
#include "report/csv.h"
#include "report/jsonl.h"
#include "report/summary.h"
#include "report/table.h"

namespace opdump::bindings {
namespace {

using Dump = std::shared_ptr<dump::DumpSet>;

struct Comparison {
  Dump golden, actual;
  compare::Comparison result;
  std::vector<compare::OperatorComparison> operators;
};
using Shared = std::shared_ptr<Comparison>;

struct Finding {
  Shared comparison;
  const compare::OperatorComparison* op = nullptr;
};

Shared compare_dumps(Dump golden, Dump actual, std::optional<double> rtol, std::optional<double> atol,
                     unsigned threads) {
  const py::gil_scoped_release release;
  compare::CompareOptions options;
  options.rtol = rtol;
  options.atol = atol;
  options.threads = threads;
  auto comparison = std::make_shared<Comparison>();
  options.take = [&](const compare::OperatorComparison& op) { comparison->operators.push_back(op); };
  comparison->result = unwrap(compare::compare_dumps(*golden, *actual, options));
  comparison->golden = std::move(golden);
  comparison->actual = std::move(actual);
  return comparison;
}

py::list findings_of(const Shared& comparison) {
  py::list found;
  for (const compare::OperatorComparison& op : comparison->operators) found.append(Finding{comparison, &op});
  return found;
}

py::object first_bad_of(const Shared& comparison) {
  const auto& bad = comparison->result.first_bad;
  return bad ? py::cast(Finding{comparison, &*bad}) : py::none();
}

py::object side_of(const Dump& dump, const std::shared_ptr<const dump::OperatorRun>& run) {
  return run == nullptr ? py::none() : py::cast(Operator{dump, run});
}

std::string csv_of(const Comparison& comparison) {
  std::string text(report::csv_header());
  for (const compare::OperatorComparison& op : comparison.operators) report::append_csv_rows(text, op);
  return text;
}

std::string table_of(const Comparison& comparison, bool all) {
  report::TableStyle style;
  style.all = all;
  report::Table table(style);
  for (const compare::OperatorComparison& op : comparison.operators) table.add(op);
  std::string text;
  table.print(comparison.result.has_ranks, [&](std::string_view line) { text += line; });
  return report::format_opening(comparison.result) + (text.empty() ? text : text + "\n") +
         report::format_summary(comparison.result, style);
}

py::dict coverage_of(const compare::Coverage& coverage) {
  py::dict record;
  record["golden_operators"] = coverage.golden_operators;
  record["actual_operators"] = coverage.actual_operators;
  record["paired_operators"] = coverage.paired_operators;
  record["golden_slots"] = coverage.golden_slots;
  record["compared_slots"] = coverage.compared_slots;
  record["compared_bytes"] = coverage.compared_bytes;
  record["skipped_slots"] = coverage.skipped_slots;
  return record;
}

// The remark for the most significant slot.
std::string reason_of(const Finding& finding) {
  const compare::SlotComparison* slot = compare::key_slot(*finding.op);
  return slot == nullptr ? std::string() : report::describe_slot(*slot);
}

// One slot of a finding.
struct SlotFinding {
  Finding finding;
  const compare::SlotComparison* slot = nullptr;
};

py::dict slots_of(const Finding& finding) {
  py::dict slots;
  for (const compare::SlotComparison& slot : finding.op->slots)
    slots[py::str(compare::slot_name(slot))] = SlotFinding{finding, &slot};
  return slots;
}

py::object metrics_of(const SlotFinding& finding) {
  if (!finding.slot->metrics) return py::none();
  const math::Metrics& m = *finding.slot->metrics;
  py::dict record;
  record["count"] = m.count;
  record["mismatch_count"] = m.mismatch_count;
  record["nan_mismatch_count"] = m.nan_mismatch_count;
  record["cosine"] = m.cosine;
  record["max_abs"] = m.max_abs;
  record["max_rel"] = m.max_rel;
  record["relative_l2"] = m.relative_l2;
  record["mean_abs"] = m.mean_abs;
  record["rmse"] = m.rmse;
  if (m.max_abs > 0 && finding.slot->shape) {
    record["worst_index"] = py::tuple(py::cast(model::position_of(m.max_abs_index, *finding.slot->shape)));
    record["worst_golden"] = m.max_abs_golden;
    record["worst_actual"] = m.max_abs_actual;
  }
  return record;
}

py::object tensor_of(const Dump& dump, const std::shared_ptr<const dump::OperatorRun>& run,
                     const dump::Slot* slot) {
  return slot == nullptr ? py::none() : py::cast(Slot{dump, run, slot});
}

py::object type_of(const Finding& finding) { return to_text(finding.op->run().type); }

py::object source_of(const Finding& finding) {
  const dump::OperatorRun& run = finding.op->run();
  const std::string source = run.op == nullptr ? "" : model::format_source(*run.op);
  return source.empty() ? py::object(py::none()) : to_text(source);
}

py::object phase_of(const Finding& finding) {
  const dump::OperatorRun& run = finding.op->run();
  if (run.op == nullptr) return py::none();
  return to_text(model::kPhaseNames[static_cast<std::size_t>(run.op->phase)]);
}

void define_slot_finding(py::module_& module) {
  py::class_<SlotFinding>(module, "SlotFinding", "What became of one tensor in a comparison.")
      .def_property_readonly("name", [](const SlotFinding& f) { return compare::slot_name(*f.slot); })
      .def_property_readonly("verdict",
                             [](const SlotFinding& f) { return compare::verdict_name(f.slot->verdict); })
      .def_property_readonly("reason", [](const SlotFinding& f) { return report::describe_slot(*f.slot); })
      .def_property_readonly("metrics", metrics_of)
      .def_property_readonly("golden",
                             [](const SlotFinding& f) {
                               return tensor_of(f.finding.comparison->golden, f.finding.op->golden,
                                                f.slot->golden);
                             })
      .def_property_readonly("actual",
                             [](const SlotFinding& f) {
                               return tensor_of(f.finding.comparison->actual, f.finding.op->actual,
                                                f.slot->actual);
                             })
      .def("__repr__", [](const SlotFinding& f) {
        const std::string text = report::describe_slot(*f.slot);
        return "<" + std::string(compare::verdict_name(f.slot->verdict)) + " " + compare::slot_name(*f.slot) +
               (text.empty() ? "" : ": " + text) + ">";
      });
}

void define_finding(py::module_& module) {
  py::class_<Finding>(module, "Finding", "What became of one operator in a comparison.")
      .def_property_readonly("name", [](const Finding& f) { return compare::operator_name(f.op->run()); })
      .def_property_readonly("verdict", [](const Finding& f) { return compare::verdict_name(f.op->verdict); })
      .def_property_readonly("reason", reason_of)
      .def_property_readonly("type", type_of)
      .def_property_readonly("phase", phase_of)
      .def_property_readonly("source", source_of)
      .def_property_readonly("slots", slots_of)
      .def_property_readonly("rank", [](const Finding& f) { return f.op->run().rank; })
      .def_property_readonly("step", [](const Finding& f) { return f.op->run().step; })
      .def_property_readonly("golden",
                             [](const Finding& f) { return side_of(f.comparison->golden, f.op->golden); })
      .def_property_readonly("actual",
                             [](const Finding& f) { return side_of(f.comparison->actual, f.op->actual); })
      .def("__repr__", [](const Finding& f) {
        return "<" + std::string(compare::verdict_name(f.op->verdict)) + " " +
               compare::operator_name(f.op->run()) + " step " + std::to_string(f.op->run().step) + ">";
      });
}

}  // namespace

void define_comparisons(py::module_& module) {
  define_finding(module);
  define_slot_finding(module);
  py::class_<Comparison, Shared>(module, "Comparison", "The judgement of two dumps.")
      .def_property_readonly("outcome",
                             [](const Comparison& c) {
                               return compare::kOutcomeNames[static_cast<std::size_t>(c.result.outcome)];
                             })
      .def_property_readonly("first_bad", first_bad_of)
      .def_property_readonly("coverage", [](const Comparison& c) { return coverage_of(c.result.coverage); })
      .def_property_readonly("incomplete", [](const Comparison& c) { return c.result.incomplete; })
      .def_property_readonly("notes",
                             [](const Comparison& c) {
                               std::vector<std::string> texts;
                               for (const compare::Note& note : c.result.notes) texts.push_back(note.text);
                               return texts;
                             })
      .def_property_readonly("conclusion", [](const Comparison& c) { return report::conclusion(c.result); })
      .def("operators", findings_of)
      .def("csv", csv_of)
      .def("table", table_of, py::arg("all"));
  module.def("compare", compare_dumps, py::arg("golden"), py::arg("actual"), py::arg("rtol"), py::arg("atol"),
             py::arg("threads"));
}

}  // namespace opdump::bindings
