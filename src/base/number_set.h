// Different whole numbers, of which there may be very many.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/record_sorter.h"
#include "base/result.h"

namespace opdump {

class NumberSet {
 public:
  void add(std::int64_t number) {
    if (number == newest_) return;  // often they come so
    newest_ = number;
    std::string record;
    SortKey(record).signed_number(number);
    numbers_.add(record);
  }

  // Calls take(first, last) -> Result<> with each row of numbers without a gap, in rising order. No more can
  // be added then. Errors: io, and those of `take`.
  template <typename Take>
  Result<> visit_rows(const Take& take) {
    std::optional<std::int64_t> first;
    std::int64_t last = 0;
    OPDUMP_CHECK_OK(numbers_.visit([&](std::string_view record) -> Result<> {
      const std::int64_t number = SortKeyReader(record).signed_number();
      if (first && number != last && number - 1 != last) {
        OPDUMP_CHECK_OK(take(*first, last));
        first.reset();
      }
      if (!first) first = number;
      last = number;
      return ok();
    }));
    return first ? take(*first, last) : ok();
  }

 private:
  RecordSorter numbers_;
  std::optional<std::int64_t> newest_;
};

}  // namespace opdump
