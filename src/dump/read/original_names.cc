#include "dump/read/original_names.h"

namespace opdump::dump {

void OriginalNames::add(std::string_view name, std::string_view original) {
  record_.clear();
  SortKey(record_).text(name).number(told_.size());
  told_.add(record_ += original);
}

Result<std::optional<std::string>> OriginalNames::find(std::string_view name) {
  if (!sorted_) {
    sorted_ = told_.sorted();
    OPDUMP_CHECK_OK(advance());
  }
  std::optional<std::string> found;
  while (has_next_ && name_ <= name) {
    if (name_ == name) found = original_;
    OPDUMP_CHECK_OK(advance());
  }
  return found;
}

Result<> OriginalNames::advance() {
  OPDUMP_TRY(has_next_, sorted_->next());
  if (!has_next_) return ok();
  SortKeyReader in(sorted_->record());
  name_ = in.text();
  in.number();
  original_ = in.rest();
  return ok();
}

}  // namespace opdump::dump
