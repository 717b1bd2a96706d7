#include "dump/read/log_index.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/text/packing.h"
#include "dump/file_name.h"
#include "dump/tensor_names.h"

namespace opdump::dump {
namespace {

constexpr std::uint32_t kSeveral = UINT32_MAX;  // operators that would be called the same

std::uint64_t key_of(std::int64_t graph_id, std::string_view type, std::string_view name) {
  std::string key;
  Packer out(key);
  out.signed_number(graph_id);
  out.text(type);
  out.text(name);
  return std::hash<std::string>()(key);
}

std::uint64_t key_of(std::uint32_t op, std::int64_t step) {
  std::string key;
  Packer out(key);
  out.number(op);
  out.signed_number(step);
  return std::hash<std::string>()(key);
}

}  // namespace

Result<std::uint64_t> LogIndex::read(const std::filesystem::path& rank_directory) {
  return read_operator_log(rank_directory,
                           {[&](const LoggedOperator& op) { return add(op), ok(); },
                            [&](const UndumpedSlot& slot) { return add(slot), ok(); },
                            [&](const LoggedForm& call) { return add(call), ok(); },
                            [&](const LoggedLayout& layout) { return add(layout), ok(); },
                            [&](LoggedWiring logged) { return add(std::move(logged)), ok(); }});
}

void LogIndex::add(const LoggedOperator& op) {
  std::uint32_t& known = by_full_name_[key_of(op.graph_id, {}, op.name)];
  if (known != 0) return op.since ? runs_.add_source(known, op) : void();
  known = runs_.add_operator(op);
  // What was logged first keeps its names.
  by_file_name_.try_emplace(key_of(op.graph_id, file_type(op), file_op_name(op)), known);
  by_file_name_.try_emplace(key_of(op.graph_id, plain_name(op.type), plain_name(op.name)), known);
}

void LogIndex::add(const UndumpedSlot& slot) {
  const auto op = by_full_name_.find(key_of(slot.graph_id, {}, slot.operator_name));
  if (op == by_full_name_.end()) return;
  runs_.add_undumped(op->second, slot);
  if (has_run_.try_emplace(key_of(op->second, slot.step), false).second)
    met_.push_back({op->second, slot.step});
}

void LogIndex::add(const LoggedForm& call) {
  const auto op = by_full_name_.find(key_of(call.graph_id, {}, call.operator_name));
  if (op != by_full_name_.end()) runs_.add_call(op->second, call);
}

void LogIndex::add(const LoggedLayout& layout) {
  const auto op = by_full_name_.find(key_of(layout.graph_id, {}, layout.operator_name));
  if (op != by_full_name_.end()) runs_.add_layout(op->second, layout);
}

// Makers have run before: what the log has of them is known.
void LogIndex::add(LoggedWiring logged) {
  const auto find = [&](const std::string& name) {
    const auto op = by_full_name_.find(key_of(logged.graph_id, {}, name));
    return op == by_full_name_.end() ? 0 : op->second;
  };
  const std::uint32_t reader = find(logged.operator_name);
  if (reader == 0) return;
  for (CallWiring::Input& input : logged.wiring.inputs) {
    if (input.maker) input.maker->number = find(input.maker->name);
    for (CallWiring::Maker& maker : input.changed_by) maker.number = find(maker.name);
  }
  runs_.add_wiring(reader, logged);
}

std::uint32_t LogIndex::find(const OperatorRun& run) {
  const std::uint32_t op = find_named(run);
  if (op == 0 || met_.empty()) return op;
  if (const auto met = has_run_.find(key_of(op, run.step)); met != has_run_.end()) met->second = true;
  return op;
}

std::uint32_t LogIndex::find_named(const OperatorRun& run) {
  const bool is_converted = run.type.empty();  // by `opdump convert`, whose names have no types
  if (is_converted && !has_converted_names_) add_converted_names();
  const Numbers& numbers = is_converted ? by_converted_name_ : by_file_name_;
  for (const std::int64_t graph_id : {run.graph_id, model::kAnyGraph})
    if (const auto op = numbers.find(key_of(graph_id, run.type, run.name)); op != numbers.end())
      return op->second == kSeveral ? 0 : op->second;
  return 0;
}

void LogIndex::add_converted_names() {
  has_converted_names_ = true;
  for (std::uint32_t number = before_ + 1; number <= runs_.last_operator(); ++number) {
    const model::Operator op = runs_.operator_of(number);
    for (const std::string& name : {file_op_name(op), plain_name(op.name)}) {
      std::uint32_t& named = by_converted_name_[key_of(op.graph_id, {}, converted_name(name))];
      named = named == 0 || named == number ? number : kSeveral;
    }
  }
}

std::vector<LogIndex::Absent> LogIndex::absent() const {
  std::vector<Absent> list;
  for (const Absent& met : met_)
    if (!has_run_.at(key_of(met.op, met.step))) list.push_back(met);
  return list;
}

}  // namespace opdump::dump
