// Which operators a table has, and in which order: also as JSON.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/text/natural_order.h"
#include "compare/key_slots.h"
#include "compare/names.h"
#include "model/operator_traits.h"
#include "report/table_style.h"

namespace opdump::report {

// `Row` is what is kept of an operator.
template <typename Row>
class ShownRows {
 public:
  explicit ShownRows(const TableStyle& style) : style_(style) {}

  // Whether the operator has a row. In another order than that of execution, ordered() may still leave it
  // out.
  bool wants(const compare::OperatorComparison& op) {
    if (!style_.all && (op.is_alone || is_no_difference(op) || compare::is_fine(op.verdict))) return false;
    if (style_.order != TableStyle::Order::execution || wanted_ < most()) return ++wanted_, true;
    ++left_out_;
    return false;
  }

  // Of an operator that is wanted.
  void add(const compare::OperatorComparison& op, Row row) {
    Kept kept{std::move(row), 0, {}};
    const compare::SlotComparison* const slot = compare::key_slot(op);
    if (slot != nullptr && slot->metrics && !std::isnan(slot->metrics->relative_l2))
      kept.error = slot->metrics->relative_l2;
    if (style_.order == TableStyle::Order::name) kept.name = compare::operator_name(op.run());
    rows_.push_back(std::move(kept));
  }

  std::vector<const Row*> ordered() const {
    std::vector<const Kept*> kept;
    kept.reserve(rows_.size());
    for (const Kept& row : rows_) kept.push_back(&row);
    if (style_.order == TableStyle::Order::error)
      std::ranges::stable_sort(kept, std::greater(), [](const Kept* row) { return row->error; });
    if (style_.order == TableStyle::Order::name)
      std::ranges::stable_sort(kept, NaturalLess(), [](const Kept* row) { return row->name; });
    if (kept.size() > most()) kept.resize(most());
    std::vector<const Row*> rows;
    rows.reserve(kept.size());
    for (const Kept* row : kept) rows.push_back(&row->row);
    return rows;
  }

  std::uint64_t left_out() const { return left_out_ + (wanted_ > most() ? wanted_ - most() : 0); }

 private:
  // What only one run copies is no difference: what reads the copy is compared. Nor is what its loader's
  // workers prepare.
  static bool is_no_difference(const compare::OperatorComparison& op) {
    return (op.golden == nullptr || op.actual == nullptr) &&
           (model::has_trait(op.run().type, model::Trait::copies) || compare::runs_ahead(op.run()));
  }
  struct Kept {
    Row row;
    double error = 0;
    std::string name;  // if it decides on the order
  };
  std::size_t most() const { return style_.row_limit.value_or(style_.all ? SIZE_MAX : 20); }

  TableStyle style_;
  std::vector<Kept> rows_;
  std::uint64_t wanted_ = 0, left_out_ = 0;
};

}  // namespace opdump::report
