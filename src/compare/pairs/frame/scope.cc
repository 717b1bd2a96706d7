#include "compare/pairs/frame/scope.h"

#include <cstddef>

#include "base/text/text.h"
#include "compare/facts/operator_kind.h"

namespace opdump::compare {

using dump::OperatorRun;

namespace {

// "gradient_tape/Mul/Mul" of "gradient_tape/Mul/Mul_4": TensorFlow numbers the operators of a type.
std::string_view without_number_of_type(std::string_view name, std::string_view type) {
  const std::size_t end = name.find_last_not_of("0123456789");
  if (end == std::string_view::npos) return name;
  const std::string_view base = end + 1 < name.size() && name[end] == '_' ? name.substr(0, end) : name;
  const std::string_view last = base.substr(base.rfind('/') + 1);
  return to_lower(last) == to_lower(type) ? base : name;
}

}  // namespace

std::string_view without_number(std::string_view name, std::string_view type) {
  const std::size_t end = name.find_last_not_of("0123456789");
  if (end == std::string_view::npos || !name.substr(0, end + 1).ends_with("op"))
    return without_number_of_type(name, type);
  name = name.substr(0, end - 1);
  // One separator: "add_-op3" is of the type add_, not add.
  if (name.ends_with('-') || name.ends_with('_')) name.remove_suffix(1);
  return name;
}

std::string scope_of(const OperatorRun& run) {
  if (run.op != nullptr) {
    const std::size_t slash = run.op->name.rfind('/');
    return slash == std::string::npos ? std::string() : model::sanitise_name(run.op->name.substr(0, slash));
  }
  std::string_view name = without_number(run.name, {});
  if (name.ends_with(run.type)) {
    name.remove_suffix(run.type.size());
    while (name.ends_with('_')) name.remove_suffix(1);
    return std::string(name);
  }
  const std::size_t piece = name.rfind('_');
  return std::string(piece == std::string_view::npos ? std::string_view() : name.substr(0, piece));
}

std::string path_of(const OperatorRun& run) {
  if (run.op == nullptr || run.op->name.starts_with(model::kGradients)) return {};
  return module_path(run.op->name);
}

}  // namespace opdump::compare
