// DumpSet, Operator and Slot.
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "bindings.h"
#include "compare/measure/statistics.h"
#include "compare/names.h"

namespace opdump::bindings {
namespace {

using Dump = std::shared_ptr<dump::DumpSet>;

py::object text_or_none(std::string_view bytes) { return bytes.empty() ? py::none() : to_text(bytes); }

Dump open(const std::filesystem::path& path) {
  std::string remark;
  Dump dump;
  {
    const py::gil_scoped_release release;
    dump = std::make_shared<dump::DumpSet>(
        unwrap(dump::DumpSet::open(path, [&](LogLevel, std::string_view line) { remark = line; })));
  }
  if (!remark.empty() && PyErr_WarnEx(PyExc_UserWarning, remark.c_str(), 1) != 0)
    throw py::error_already_set();
  return dump;
}

py::list operators_of(const Dump& dump) {
  py::list found;
  for (dump::OperatorRun run : dump->runs())
    found.append(Operator{dump, std::make_shared<const dump::OperatorRun>(std::move(run))});
  return found;
}

py::list slots_of(const Operator& op, std::optional<model::Side> side) {
  py::list found;
  for (const dump::Slot& slot : op.run->slots)
    if (!side || slot.side == *side) found.append(Slot{op.dump, op.run, &slot});
  return found;
}

py::object phase_of(const dump::OperatorRun& run) {
  if (run.op == nullptr) return py::none();
  return to_text(model::kPhaseNames[static_cast<std::size_t>(run.op->phase)]);
}

py::object source_of(const dump::OperatorRun& run) {
  return run.op == nullptr ? py::none() : text_or_none(model::format_source(*run.op));
}

py::list stack_of(const dump::OperatorRun& run) {
  py::list calls;
  if (run.op != nullptr)
    for (const model::Frame& frame : run.op->stack) calls.append(to_text(model::format_frame(frame)));
  return calls;
}

py::object format_of(const dump::Slot& slot) { return text_or_none(slot.format); }
py::object reason_of(const dump::Slot& slot) { return text_or_none(slot.undumped_reason); }
py::object file_of(const dump::Slot& slot) {
  return slot.file.empty() ? py::none() : py::cast(std::filesystem::path(slot.file));
}

// Dtype and shape from the dump's names and tables, else from the header of the file.
std::pair<model::DType, std::optional<model::Shape>> facts_of(const dump::Slot& slot) {
  std::pair facts(slot.dtype, slot.shape);
  if (slot.file.empty() || (facts.second && facts.first != model::DType::undefined)) return facts;
  const auto tensor = dump::StoredTensor::read(slot);
  if (!tensor) return facts;  // numpy() says why
  if (facts.first == model::DType::undefined) facts.first = tensor->view().dtype;
  if (!facts.second) facts.second = tensor->view().shape;
  return facts;
}

// Those of the dump; computed from the tensor where the dump has none. Empty if there is neither, or if the
// elements have none.
compare::Columns columns_of(const dump::Slot& slot, bool compute) {
  if (!slot.statistics.empty() || slot.file.empty() || !compute) return slot.statistics.columns();
  const auto tensor = dump::StoredTensor::read(slot);
  if (!tensor) return {};
  auto columns = compare::compute_columns(tensor->view(), slot.dtype, compare::all_columns());
  return columns ? std::move(*columns) : compare::Columns();
}

py::dict statistics_of(const dump::Slot& slot) {
  compare::Columns columns;
  {
    const py::gil_scoped_release release;
    columns = columns_of(slot, true);
  }
  py::dict result;
  for (const auto& [name, text] : columns) result[to_text(name)] = to_number(text);
  return result;
}

// The columns of a table with a row for each slot. What a row does not have is None.
class Table {
 public:
  void add(std::string_view column, py::object value) {
    const py::str name{std::string(column)};
    if (!columns_.contains(name)) columns_[name] = nothing(rows_);  // for the rows before
    py::list(columns_[name]).append(std::move(value));
  }
  void end_row() {
    ++rows_;
    for (const auto& [name, values] : columns_)
      if (py::len(values) < rows_) py::reinterpret_borrow<py::list>(values).append(py::none());
  }
  py::dict columns() const { return columns_; }

 private:
  static py::list nothing(std::size_t count) {
    py::list values;
    for (std::size_t i = 0; i < count; ++i) values.append(py::none());
    return values;
  }
  py::dict columns_;
  std::size_t rows_ = 0;
};

void add_facts(Table& table, const dump::OperatorRun& run, const dump::Slot& slot) {
  const auto [dtype, shape] = facts_of(slot);
  table.add("rank", py::int_(run.rank));
  table.add("step", py::int_(run.step));
  table.add("graph", py::int_(run.graph_id));
  table.add("operator", to_text(compare::operator_name(run)));
  table.add("type", to_text(run.type));
  table.add("phase", phase_of(run));
  table.add("source", source_of(run));
  table.add("slot", py::str(compare::slot_name(slot)));
  table.add("dtype", dtype_name(dtype));
  table.add("shape", to_tuple(shape));
}

py::dict slot_columns(const dump::DumpSet& dump) {
  Table table;
  for (const dump::OperatorRun& run : dump.runs())
    for (const dump::Slot& slot : run.slots) {
      add_facts(table, run, slot);
      table.add("format", format_of(slot));
      table.add("file", file_of(slot));
      table.add("reason", reason_of(slot));
      table.end_row();
    }
  return table.columns();
}

py::dict statistic_columns(const dump::DumpSet& dump, bool compute) {
  Table table;
  for (const dump::OperatorRun& run : dump.runs())
    for (const dump::Slot& slot : run.slots) {
      add_facts(table, run, slot);
      compare::Columns columns;
      {
        const py::gil_scoped_release release;
        columns = columns_of(slot, compute);
      }
      for (const auto& [name, text] : columns) table.add(name, to_number(text));
      table.end_row();
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    }
  return table.columns();
}

py::dict status_dict(const dump::RecordingStatus& status) {
  py::dict record;
  record["state"] = status.state;
  record["runtime"] = to_text(status.runtime);
  record["config"] = to_text(status.config_path);
  record["operator_count"] = status.operator_count;
  record["call_count"] = status.call_count;
  record["tensor_count"] = status.tensor_count;
  record["first_step"] = status.first_step;
  record["last_step"] = status.last_step;
  py::list losses;
  for (const dump::Loss& loss : status.losses)
    losses.append(to_text(loss.what + ": " + loss.reason + " (" + std::to_string(loss.count) + ", first " +
                          loss.first + ")"));
  record["losses"] = losses;
  record["warnings"] = status.warnings;
  return record;
}

// numpy.asarray(slot), as NumPy's protocol defines it.
py::object as_array(const Slot& slot, const py::object& dtype, const py::object& copy) {
  py::object array = read_array(*slot.slot);
  const bool must_copy = !copy.is_none() && copy.cast<bool>(), may_not_copy = !copy.is_none() && !must_copy;
  const bool is_other =
      !dtype.is_none() &&
      !py::object(array.attr("dtype")).equal(py::object(py::module_::import("numpy").attr("dtype")(dtype)));
  if (is_other) {
    if (may_not_copy) throw py::value_error("another dtype needs a copy");
    return array.attr("astype")(dtype);
  }
  return must_copy ? array.attr("copy")() : array;
}

void define_slot(py::module_& module) {
  py::class_<Slot>(module, "Slot", "One recorded tensor of one execution of an operator.")
      .def_property_readonly("name", [](const Slot& s) { return compare::slot_name(*s.slot); })
      .def_property_readonly(
          "side", [](const Slot& s) { return model::kSideNames[static_cast<std::size_t>(s.slot->side)]; })
      .def_property_readonly("index", [](const Slot& s) { return s.slot->index; })
      .def_property_readonly("operator",
                             [](const Slot& s) {
                               return Operator{s.dump, s.run};
                             })
      .def_property_readonly("dtype", [](const Slot& s) { return dtype_name(facts_of(*s.slot).first); })
      .def_property_readonly("shape", [](const Slot& s) { return to_tuple(facts_of(*s.slot).second); })
      .def_property_readonly("format", [](const Slot& s) { return format_of(*s.slot); })
      .def_property_readonly("file", [](const Slot& s) { return file_of(*s.slot); })
      .def_property_readonly("reason", [](const Slot& s) { return reason_of(*s.slot); })
      .def_property_readonly("timestamp_us", [](const Slot& s) { return s.slot->timestamp_us; })
      .def("numpy", [](const Slot& s) { return read_array(*s.slot); })
      .def("__array__", as_array, py::arg("dtype") = py::none(), py::arg("copy") = py::none())
      .def("statistics", [](const Slot& s) { return statistics_of(*s.slot); })
      .def("__repr__", [](const Slot& s) {
        const auto [dtype, shape] = facts_of(*s.slot);
        return "<" + compare::slot_name(*s.slot) + " " + std::string(model::dtype_info(dtype).name) +
               (shape ? model::format_shape(*shape) : "") + " of " + compare::operator_name(*s.run) + ">";
      });
}

Slot find_slot(const Operator& op, const std::string& name) {
  std::string known;
  for (const dump::Slot& slot : op.run->slots) {
    if (compare::slot_name(slot) == name) return {op.dump, op.run, &slot};
    known += (known.empty() ? "" : ", ") + compare::slot_name(slot);
  }
  throw py::key_error(name + " (there are " + (known.empty() ? "none" : known) + ")");
}

void define_operator(py::module_& module) {
  py::class_<Operator>(module, "Operator", "One execution of an operator in one step.")
      .def_property_readonly("name",
                             [](const Operator& o) { return to_text(compare::operator_name(*o.run)); })
      .def_property_readonly("type", [](const Operator& o) { return to_text(o.run->type); })
      .def_property_readonly("phase", [](const Operator& o) { return phase_of(*o.run); })
      .def_property_readonly("source", [](const Operator& o) { return source_of(*o.run); })
      .def_property_readonly("stack", [](const Operator& o) { return stack_of(*o.run); })
      .def_property_readonly("rank", [](const Operator& o) { return o.run->rank; })
      .def_property_readonly("step", [](const Operator& o) { return o.run->step; })
      .def_property_readonly("graph", [](const Operator& o) { return o.run->graph_id; })
      .def_property_readonly("task", [](const Operator& o) { return o.run->task; })
      .def_property_readonly("stream", [](const Operator& o) { return o.run->stream; })
      .def_property_readonly("slots", [](const Operator& o) { return slots_of(o, std::nullopt); })
      .def_property_readonly("inputs", [](const Operator& o) { return slots_of(o, model::Side::input); })
      .def_property_readonly("outputs", [](const Operator& o) { return slots_of(o, model::Side::output); })
      .def("__getitem__", find_slot, py::arg("slot"))
      .def("__repr__", [](const Operator& o) {
        return "<" + compare::operator_name(*o.run) + " rank " + std::to_string(o.run->rank) + " step " +
               std::to_string(o.run->step) + ">";
      });
}

}  // namespace

void define_dumps(py::module_& module) {
  define_slot(module);
  define_operator(module);
  py::class_<dump::DumpSet, Dump>(module, "Dump", "A dump on disk.")
      .def_property_readonly("path", [](const dump::DumpSet& d) { return d.path(); })
      .def_property_readonly("problems",
                             [](const dump::DumpSet& d) {
                               py::list found;
                               for (const dump::Problem& problem : d.problems())
                                 found.append(to_text(problem.path.string() + ": " + problem.what));
                               return found;
                             })
      .def_property_readonly("statuses",
                             [](const dump::DumpSet& d) {
                               py::dict found;
                               for (const auto& [rank, status] : d.statuses())
                                 found[py::int_(rank)] = status_dict(status);
                               return found;
                             })
      .def("operators", operators_of)
      .def("slot_columns", slot_columns)
      .def("statistic_columns", statistic_columns, py::arg("compute"));
  module.def("open", open, py::arg("path"));
}

}  // namespace opdump::bindings
