// The module itself: errors, plans, and the two families of classes.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/version.h"
#include "bindings.h"
#include "dialect/dialects.h"
#include "plan/dump_plan.h"

namespace opdump::bindings {
namespace {

constexpr std::array kCodeNames{"usage",   "config",      "not_found", "io",
                                "corrupt", "unsupported", "limit",     "internal"};

std::string plan_json(const std::string& config, std::optional<std::string> text, const std::string& dialect,
                      const std::string& mode, bool strict) {
  dialect::DialectOptions options;
  options.strict = strict;
  options.mode = unwrap(dialect::parse_mode(mode));
  return plan::describe_json(unwrap(text ? dialect::make_plan(config, std::move(*text), dialect, options)
                                         : dialect::load_plan(config, dialect, options)));
}

}  // namespace

void raise(const Error& error) {
  const py::gil_scoped_acquire gil;
  const py::object made =
      py::module_::import("opdump._errors")
          .attr("make")(
              kCodeNames[static_cast<std::size_t>(error.code())],
              py::reinterpret_steal<py::object>(PyUnicode_DecodeUTF8(
                  error.message().data(), static_cast<Py_ssize_t>(error.message().size()), "replace")));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  throw py::error_already_set();
}

}  // namespace opdump::bindings

PYBIND11_MODULE(_core, module) {
  namespace bindings = opdump::bindings;
  namespace py = pybind11;
  module.doc() = "The reading half of opdump.";
  module.attr("version") = std::string(opdump::kVersion);
  module.def("plan_json", bindings::plan_json, py::arg("config"), py::arg("text"), py::arg("dialect"),
             py::arg("mode"), py::arg("strict"),
             "What a configuration asks for, as a JSON object: that of a file, or of a text called so.");
  bindings::define_dumps(module);
  bindings::define_comparisons(module);
}
