// The statistics of one execution of an operator as CANN writes them (cann.md 3.4, torch_tf_frontends.md
// B.5): a table beside, or instead of, its dump file, named as that with ".csv". The columns after Shape are
// given by the header: six in old releases, or selected ones with Count before or after them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/dtype.h"
#include "model/operator.h"
#include "model/shape.h"

namespace opdump::format {

struct OpStatisticRow {
  model::Side side = model::Side::input;
  std::uint32_t index = 0;
  model::DType dtype = model::DType::undefined;  // also for "-" and "UNKNOW"
  std::string format;                            // empty for "-"
  std::optional<model::Shape> shape;             // nothing for "-": a scalar, or unknown
  // Those that were computed, by the names that statistic.csv has ("NaN Count", "L2Norm Value").
  std::vector<std::pair<std::string, std::string>> values;
};

struct OpStatisticCsv {
  std::vector<OpStatisticRow> rows;
  std::uint64_t damaged_rows = 0;  // torn or with a wrong number of fields; not in rows
};

// "DT_FLOAT16"; undefined if there is no such name.
model::DType find_cann_dtype(std::string_view name);

// "4x50x50x16"; nothing if `text` is no such list.
std::optional<model::Shape> parse_cann_shape(std::string_view text);

// Errors: corrupt -- the first line is not a header of such a table.
Result<OpStatisticCsv> decode_op_statistic_csv(std::string_view text);

}  // namespace opdump::format
