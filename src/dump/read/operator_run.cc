#include "dump/read/operator_run.h"

namespace opdump::dump {

SlotStatistics::SlotStatistics(const Columns& columns) {
  if (columns.empty()) return;
  std::vector<std::string> names, values;
  for (const auto& [name, value] : columns) {
    names.push_back(name);
    values.push_back(value);
  }
  names_ = std::make_shared<const std::vector<std::string>>(std::move(names));
  values_ = PackedTexts(values);
}

SlotStatistics::SlotStatistics(Names names, PackedTexts values)
    : names_(names == nullptr || names->empty() ? nullptr : std::move(names)), values_(std::move(values)) {}

SlotStatistics::Columns SlotStatistics::columns() const {
  Columns columns;
  if (names_ == nullptr) return columns;
  std::vector<std::string> values = values_.texts();
  for (std::size_t i = 0; i < names_->size(); ++i) columns.emplace_back((*names_)[i], std::move(values[i]));
  return columns;
}

}  // namespace opdump::dump
