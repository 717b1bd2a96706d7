#include "dump/read/log_index.h"

#include "base/record_sorter.h"
#include "dump/file_name.h"
#include "dump/tensor_names.h"

namespace opdump::dump {
namespace {

constexpr std::uint64_t kSeveral = UINT64_MAX;    // operators that would be called the same
constexpr std::uint64_t kIsMet = 1, kHasRun = 2;  // states of an operator in a step

std::uint64_t key_of(std::int64_t graph_id, std::string_view type, std::string_view name) {
  std::string key;
  SortKey(key).signed_number(graph_id).text(type).text(name);
  return KeyNumbers::key_of(key);
}

std::uint64_t key_of(std::uint32_t op, std::int64_t step) {
  std::string key;
  SortKey(key).number(op).signed_number(step);
  return KeyNumbers::key_of(key);
}

}  // namespace

Result<std::uint64_t> LogIndex::read(const std::filesystem::path& rank_directory) {
  return read_operator_log(rank_directory, {[&](const LoggedOperator& op) { return add(op); },
                                            [&](const UndumpedSlot& slot) { return add(slot); }});
}

Result<> LogIndex::add(const LoggedOperator& op) {
  OPDUMP_TRY(std::uint64_t* const known, by_full_name_.at(key_of(op.graph_id, {}, op.name)));
  if (*known != 0) return ok();
  OPDUMP_TRY(const std::uint32_t number, runs_.add_operator(op));
  *known = number;
  for (const std::uint64_t key : {key_of(op.graph_id, file_type(op), file_op_name(op)),
                                  key_of(op.graph_id, plain_name(op.type), plain_name(op.name))}) {
    OPDUMP_TRY(std::uint64_t* const named, by_file_name_.at(key));
    if (*named == 0) *named = number;
  }
  return ok();
}

Result<> LogIndex::add(const UndumpedSlot& slot) {
  OPDUMP_TRY(const std::uint64_t* const op, by_full_name_.at(key_of(slot.graph_id, {}, slot.operator_name)));
  const auto number = static_cast<std::uint32_t>(*op);
  if (number == 0) return ok();
  OPDUMP_CHECK_OK(runs_.add_undumped(number, slot));
  OPDUMP_TRY(std::uint64_t* const state, states_.at(key_of(number, slot.step)));
  if (*state != 0) return ok();
  *state = kIsMet;
  return met_.push_back({slot.step, number});
}

Result<std::uint32_t> LogIndex::find(const OperatorRun& run) {
  OPDUMP_TRY(const std::uint32_t op, find_named(run));
  if (op == 0 || met_.empty()) return op;
  OPDUMP_TRY(std::uint64_t* const state, states_.at(key_of(op, run.step)));
  *state |= kHasRun;
  return op;
}

Result<std::uint32_t> LogIndex::find_named(const OperatorRun& run) {
  const bool is_converted = run.type.empty();  // by `opdump convert`, whose names have no types
  if (is_converted && !has_converted_names_) OPDUMP_CHECK_OK(add_converted_names());
  for (const std::int64_t graph_id : {run.graph_id, model::kAnyGraph}) {
    OPDUMP_TRY(const std::uint64_t* const op,
               (is_converted ? by_converted_name_ : by_file_name_).at(key_of(graph_id, run.type, run.name)));
    if (*op != 0) return *op == kSeveral ? 0 : static_cast<std::uint32_t>(*op);
  }
  return 0;
}

Result<> LogIndex::add_converted_names() {
  has_converted_names_ = true;
  for (std::uint32_t number = before_ + 1; number <= runs_.last_operator(); ++number) {
    const model::Operator op = runs_.operator_of(number);
    for (const std::string& name : {file_op_name(op), plain_name(op.name)}) {
      OPDUMP_TRY(std::uint64_t* const named,
                 by_converted_name_.at(key_of(op.graph_id, {}, converted_name(name))));
      *named = *named == 0 || *named == number ? number : kSeveral;
    }
  }
  return ok();
}

Result<> LogIndex::visit_absent(
    const std::function<Result<>(std::uint32_t number, std::int64_t step)>& visit) {
  for (std::size_t i = 0; i < met_.size(); ++i) {
    const auto [step, op] = met_[i];
    OPDUMP_TRY(const std::uint64_t* const state, states_.at(key_of(op, step)));
    if (*state == kIsMet) OPDUMP_CHECK_OK(visit(op, step));
  }
  return ok();
}

}  // namespace opdump::dump
