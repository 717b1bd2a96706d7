// CANN's statistics of one execution of an operator, cann.md 3.4: a file with a header and a
// row for each tensor, LF, no trailing comma, numbers as C++ streams print them.
//   - The usual seven numbers: Max, Min, Avg, Count, Nan, Negative Inf, Positive Inf. Empty where the dtype
//   has
//     none.
//   - A choice of them, as newer devices write it: Count comes first, then those chosen, in the same order,
//     and l2norm last. "NA" where the dtype has none, and "UNKNOW" for a dtype without a name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "model/operator.h"
#include "model/shape.h"

namespace opdump::format {

struct AclStatisticColumns {
  bool max = true, min = true, avg = true;
  bool nan = true, negative_inf = true, positive_inf = true;
  bool l2norm = false;
  bool operator==(const AclStatisticColumns&) const = default;
};

struct AclStatistics {
  double max = 0, min = 0, avg = 0, l2norm = 0;
  std::uint64_t count = 0, nan_count = 0, negative_inf_count = 0, positive_inf_count = 0;
};

struct AclStatisticRow {
  model::Side side = model::Side::input;
  std::uint32_t index = 0;
  std::uint64_t data_bytes = 0;
  std::int32_t data_type = 0;  // number of the DumpData message, see dump_names.h
  std::string format;          // "NCHW"; empty if unknown
  model::Shape shape;
  std::optional<AclStatistics> values;
};

std::string encode_acl_statistic_header(const AclStatisticColumns& columns);
void append_acl_statistic_row(std::string& out, const AclStatisticColumns& columns,
                              const AclStatisticRow& row);

}  // namespace opdump::format
