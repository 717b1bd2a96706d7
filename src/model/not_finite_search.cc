#include "model/not_finite_search.h"

namespace opdump::model {

NotFinite& NotFinite::operator+=(const NotFinite& other) {
  nan += other.nan;
  inf += other.inf;
  is_counted &= other.is_counted;
  return *this;
}

void NotFiniteSearch::begin(std::uint64_t run, bool may_ask) {
  run_ = run;
  may_ask_ = may_ask;
  read_ = {};
  nan_here_.reset();
  made_here_.reset();
}

void NotFiniteSearch::take(Side side, std::uint32_t index, const std::optional<NotFinite>& found,
                           bool is_number) {
  if (!found) return;
  const NotFiniteTensor here{run_, side, index, *found, {}};
  if (side == Side::input) {
    read_ += *found;
    const bool is_from_outside = found->inf > 0 && !has_infinite_output_;
    has_asked_ |= is_from_outside && is_number;
    if (is_from_outside && !is_number && !outer_) outer_ = here;
  }
  if (found->nan > 0 && (!nan_here_ || (side == Side::input && nan_here_->is_made_here()))) nan_here_ = here;
  if (side == Side::output && found->inf > 0 && !made_here_) made_here_ = here;
}

void NotFiniteSearch::end() {
  if (nan_here_) nan_here_->read = read_;
  if (!nan_) nan_ = nan_here_;
  if (!made_nan_ && nan_here_ && nan_here_->is_made_here()) made_nan_ = nan_here_;
  if (!made_here_) return;
  has_infinite_output_ = true;
  made_here_->read = read_;
  has_asked_ |= may_ask_;
  const bool is_made = read_.inf == 0 && read_.nan == 0 && !may_ask_;
  if (is_made && !made_) made_ = made_here_;
}

}  // namespace opdump::model
