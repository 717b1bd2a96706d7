#include "compare/names.h"

#include <algorithm>

#include "dump/loader_worker.h"

namespace opdump::compare {
namespace {

void append_row(std::string& text, std::int64_t first, std::int64_t last) {
  if (!text.empty()) text += ",";
  text += std::to_string(first);
  if (last > first) text += "-" + std::to_string(last);
}

}  // namespace

const std::string& operator_name(const dump::OperatorRun& run) {
  const dump::LoggedOperator* const op = run.op.get();
  const std::string& name = op != nullptr ? op->name : run.name;
  const bool is_numbered_call = run.type.size() > name.size() && run.type.starts_with(name) &&
                                run.type[name.size()] == '_' && name.starts_with("aclnn");
  return is_numbered_call ? run.type : name;
}

const std::string& name_in_file(const dump::OperatorRun& run) {
  const std::vector<std::string>* const originals = run.originals();
  return originals != nullptr && !originals->empty() ? originals->back() : operator_name(run);
}

std::string module_of(const dump::OperatorRun& run) {
  const std::string& name = operator_name(run);
  if (const std::size_t end = name.rfind('/'); end != std::string::npos) return name.substr(0, end);
  std::string module = run.op != nullptr ? run.op->module : std::string();
  std::ranges::replace(module, '.', '/');
  return module;
}

bool is_outside_modules(const dump::OperatorRun& run) {
  const std::string module = module_of(run);
  return module.empty() || module == "Default";
}

model::Phase phase_of(const dump::OperatorRun& run) {
  return run.op != nullptr ? run.op->phase : model::Phase::forward;
}

bool trains(const dump::Runs& runs) {
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (phase_of(runs.without_slots(i)) == model::Phase::backward) return true;
  return false;
}

std::string slot_name(const dump::Slot& slot) {
  return std::string(model::kSideNames[static_cast<std::size_t>(slot.side)]) + "." +
         (slot.argument.empty() ? std::to_string(slot.index) : slot.argument);
}

std::string slot_name(const SlotComparison& slot) {
  return slot_name(slot.golden != nullptr ? *slot.golden : *slot.actual);
}

bool runs_ahead(const dump::OperatorRun& run) { return !dump::loader_worker(operator_name(run)).empty(); }

std::string one_line(std::string name) {
  for (std::size_t at = 0; (at = name.find('\n', at)) != std::string::npos; at += 2)
    name.replace(at, 1, "\\n");
  return name;
}

std::string format_ranges(const std::set<std::int64_t>& numbers) {
  std::string text;
  for (auto first = numbers.begin(), next = first; first != numbers.end(); first = next) {
    std::int64_t last = *first;
    for (++next; next != numbers.end() && *next - 1 == last; ++next) last = *next;
    append_row(text, *first, last);
  }
  return text;
}

std::string describe_call(const dump::Runs& runs, std::uint32_t execution) {
  const dump::OperatorRun run = runs.without_slots(execution);
  const std::string source = run.op == nullptr ? std::string() : model::format_source(*run.op);
  return one_line(run.type) + (source.empty() ? "" : " at " + source);
}

}  // namespace opdump::compare
