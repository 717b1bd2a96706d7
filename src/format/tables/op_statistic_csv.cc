#include "format/tables/op_statistic_csv.h"

#include <array>

#include "base/text/text.h"

namespace opdump::format {
namespace {

using model::DType;

constexpr std::string_view kStart = "Input/Output,Index,Data Size,Data Type,Format,Shape";
constexpr std::size_t kStartFields = 6;

// CANN's spelling in small letters, and that of statistic.csv.
constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kSpellings = {{
    {"max value", "Max Value"},
    {"min value", "Min Value"},
    {"avg value", "Avg Value"},
    {"count", "Count"},
    {"nan count", "NaN Count"},
    {"negative inf count", "Negative Inf Count"},
    {"positive inf count", "Positive Inf Count"},
    {"l2norm", "L2Norm Value"},
}};

constexpr std::array<std::pair<std::string_view, DType>, 24> kDTypes = {{
    {"DT_FLOAT", DType::float32},
    {"DT_FLOAT16", DType::float16},
    {"DT_BF16", DType::bfloat16},
    {"DT_DOUBLE", DType::float64},
    {"DT_BOOL", DType::boolean},
    {"DT_INT8", DType::int8},
    {"DT_INT16", DType::int16},
    {"DT_INT32", DType::int32},
    {"DT_INT64", DType::int64},
    {"DT_UINT8", DType::uint8},
    {"DT_UINT16", DType::uint16},
    {"DT_UINT32", DType::uint32},
    {"DT_UINT64", DType::uint64},
    {"DT_COMPLEX64", DType::complex64},
    {"DT_COMPLEX128", DType::complex128},
    {"DT_COMPLEX32", DType::complex32},
    {"DT_INT4", DType::int4},
    {"DT_INT2", DType::int2},
    {"DT_UINT2", DType::uint2},
    {"DT_UINT1", DType::uint1},
    {"DT_HIFLOAT8", DType::hifloat8},
    {"DT_FLOAT8_E4M3FN", DType::float8_e4m3},
    {"DT_FLOAT8_E5M2", DType::float8_e5m2},
    {"DT_FLOAT8_E8M0", DType::float8_e8m0},
}};

std::string column_name(std::string_view header) {
  const std::string lower = to_lower(header);
  for (const auto& [ours, name] : kSpellings)
    if (ours == lower) return std::string(name);
  return std::string(header);
}

bool is_absent(std::string_view value) { return value.empty() || value == "NA" || value == "-"; }

std::optional<OpStatisticRow> parse_row(std::string_view line, const std::vector<std::string>& columns) {
  auto fields = split(line, ',');
  // Where nothing was computed, writers leave a comma more or less.
  const bool is_empty =
      fields.size() > kStartFields &&
      line.find_first_not_of(',', fields[kStartFields].data() - line.data()) == std::string_view::npos;
  if (is_empty) fields.resize(kStartFields + columns.size());
  if (fields.size() != kStartFields + columns.size()) return std::nullopt;
  const std::string side = to_lower(fields[0]);
  const auto index = parse_uint64(fields[1]);
  if ((side != model::kSideNames[0] && side != model::kSideNames[1]) || !index || *index > UINT32_MAX)
    return std::nullopt;
  OpStatisticRow row;
  row.side = side == model::kSideNames[0] ? model::Side::input : model::Side::output;
  row.index = static_cast<std::uint32_t>(*index);
  row.dtype = find_cann_dtype(fields[3]);
  if (!is_absent(fields[4])) row.format = fields[4];
  row.shape = parse_cann_shape(fields[5]);
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (!is_absent(fields[kStartFields + i])) row.values.emplace_back(columns[i], fields[kStartFields + i]);
  return row;
}

}  // namespace

model::DType find_cann_dtype(std::string_view name) {
  for (const auto& [known, dtype] : kDTypes)
    if (name == known) return dtype;
  return DType::undefined;
}

std::optional<model::Shape> parse_cann_shape(std::string_view text) {
  std::vector<std::int64_t> dims;
  for (const std::string_view piece : split(text, 'x')) {
    const auto dim = parse_int64(piece);
    if (!dim) return std::nullopt;
    dims.push_back(*dim);
  }
  return model::Shape(dims);
}

Result<OpStatisticCsv> decode_op_statistic_csv(std::string_view text) {
  std::size_t end = text.find('\n');
  std::string_view header = trim(text.substr(0, end));
  if (end == std::string_view::npos || !header.starts_with(kStart) ||
      (header.size() > kStart.size() && header[kStart.size()] != ','))
    return Error(Code::corrupt, "no table of an operator's statistics: it does not start with \"" +
                                    std::string(kStart) + "\"");
  std::vector<std::string> columns;
  header.remove_prefix(kStart.size());
  if (!header.empty())
    for (const std::string_view column : split(header.substr(1), ',')) columns.push_back(column_name(column));
  OpStatisticCsv csv;
  for (std::size_t at = end + 1; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    if (end == std::string_view::npos) {  // a line that was not finished
      ++csv.damaged_rows;
      break;
    }
    const std::string_view line = trim(text.substr(at, end - at));
    if (line.empty()) continue;
    if (auto row = parse_row(line, columns))
      csv.rows.push_back(std::move(*row));
    else
      ++csv.damaged_rows;
  }
  return csv;
}

}  // namespace opdump::format
