#include "dump/write/statistic_tables.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <type_traits>

#include "base/text/text.h"

namespace opdump::dump {
namespace {

constexpr std::size_t kRowBufferBytes = 64 << 10;
constexpr std::size_t kMaxOpenTables = 8;  // the table that was not asked for longest is closed first

// A tensor of one element as a device prints it: integers in full. The double of the largest int64 is 2^63.
void append_printed(std::string& out, double value, model::DTypeKind kind) {
  constexpr double kEnd = 0x1p63;
  if (kind == model::DTypeKind::boolean)
    out += value != 0 ? "True" : "False";
  else if (kind == model::DTypeKind::floating || !(value >= -kEnd && value <= kEnd))
    append_g(out, value);
  else
    out += std::to_string(value == kEnd ? std::numeric_limits<std::int64_t>::max()
                                        : static_cast<std::int64_t>(value));
}

template <auto Field>
void append_number(std::string& out, const StatisticRow& row) {
  const auto value = row.values.*Field;
  if constexpr (std::is_floating_point_v<decltype(value)>)
    append_g(out, value);
  else
    out += std::to_string(value);
}

constexpr std::string_view kMax = "Max Value", kMin = "Min Value", kAvg = "Avg Value",
                           kL2Norm = "L2Norm Value";

template <auto Field, const std::string_view& kHeader>
void append_statistic(std::string& out, const StatisticRow& row) {
  if (row.source == StatisticSource::host) return append_number<Field>(out, row);
  if (!device_computes(kHeader, row.dtype, row.source)) return static_cast<void>(out += "null");
  const bool is_element = kHeader == kMax || kHeader == kMin;
  append_printed(out, row.values.*Field,
                 is_element ? model::dtype_info(row.dtype).kind : model::DTypeKind::floating);
}

}  // namespace

bool device_computes(std::string_view column, model::DType dtype, StatisticSource source) {
  using model::DType;
  switch (dtype) {
    case DType::float16:
    case DType::bfloat16:
    case DType::float32:
      return true;
    case DType::float64:
    case DType::int8:
    case DType::int16:
    case DType::int32:
    case DType::int64:
    case DType::uint8:
      return column != kL2Norm;
    case DType::boolean:
      return source == StatisticSource::device && (column == kMax || column == kMin);
    default:
      return false;
  }
}

const StatisticTables::Column StatisticTables::kColumns[] = {
    {kMax, append_statistic<&math::Statistics::max, kMax>},
    {kMin, append_statistic<&math::Statistics::min, kMin>},
    {kAvg, append_statistic<&math::Statistics::avg, kAvg>},
    {"Count", append_number<&math::Statistics::count>},
    {"Negative Zero Count", append_number<&math::Statistics::negative_count>},
    {"Positive Zero Count", append_number<&math::Statistics::positive_count>},
    {"NaN Count", append_number<&math::Statistics::nan_count>},
    {"Negative Inf Count", append_number<&math::Statistics::negative_inf_count>},
    {"Positive Inf Count", append_number<&math::Statistics::positive_inf_count>},
    {"Zero Count", append_number<&math::Statistics::zero_count>},
    {"MD5", [](std::string& out, const StatisticRow& row) { out += row.md5; }},
    {kL2Norm, append_statistic<&math::Statistics::l2norm, kL2Norm>},
    {"SHA1", [](std::string& out, const StatisticRow& row) { out += row.sha1; }},
    {"XXH128", [](std::string& out, const StatisticRow& row) { out += row.xxh128; }},
};

StatisticTables::OpenTable::~OpenTable() {
  if (!file_) return;
  (void)flush();
  if (auto fd = file_.use()) ::fchmod((*fd)->get(), 0400);
}

Result<> StatisticTables::OpenTable::append(const format::StatisticCsvRow& row) {
  format::append_statistic_row(rows_, row);
  return rows_.size() < kRowBufferBytes ? ok() : flush();
}

// One call for whole lines: other processes may append to the same file.
Result<> StatisticTables::OpenTable::flush() {
  if (rows_.empty()) return ok();
  OPDUMP_TRY(const Fd* const fd, file_.use());
  Result<> written = write_all(*fd, std::as_bytes(std::span(rows_)), file_.path());
  rows_.clear();
  if (!written) return Error(Code::io, written.error().message());
  return written;
}

Result<StatisticTables> StatisticTables::make(std::vector<std::string> headers) {
  StatisticTables tables;
  for (const std::string& header : headers) {
    const auto column = std::ranges::find(kColumns, header, &Column::header);
    if (column == std::end(kColumns))
      return Error(Code::usage,
                   "statistic column \"" + header + "\"; expected a header as statistic.csv has it");
    tables.columns_.push_back(column->append);
  }
  tables.headers_ = std::move(headers);
  tables.row_.values.resize(tables.columns_.size());
  return tables;
}

Result<StatisticTables::OpenTable*> StatisticTables::find(StepDirectories& directories,
                                                          const SlotAddress& address) {
  const std::pair key{address.step, directories.graph_of(address)};
  if (const auto found = std::ranges::find(tables_, key, &decltype(tables_)::value_type::first);
      found != tables_.end()) {
    tables_.splice(tables_.begin(), tables_, found);
    return &found->second;
  }
  if (tables_.size() == kMaxOpenTables) {
    OPDUMP_CHECK_OK(tables_.back().second.flush());
    tables_.pop_back();
  }
  OPDUMP_TRY(const auto directory, directories.find(address));
  OPDUMP_TRY(KeptFile file, keep_append(directory->path / format::kStatisticCsvName,
                                        format::encode_statistic_header(headers_)));
  tables_.emplace_front(key, OpenTable(std::move(file)));
  return &tables_.front().second;
}

Result<> StatisticTables::append(StepDirectories& directories, const SlotAddress& address,
                                 const RowName& name, const StatisticRow& row) {
  OPDUMP_TRY(OpenTable* const table, find(directories, address));
  row_.op_type = name.type;
  row_.op_name = name.name;
  row_.task_id = std::to_string(name.task);
  row_.stream_id = std::to_string(address.op->stream);
  row_.timestamp = std::to_string(address.timestamp_us);
  row_.io = model::kSideNames[static_cast<int>(address.side)];
  row_.slot = std::to_string(address.index);
  row_.data_bytes = std::to_string(row.data_bytes);
  row_.dtype = model::dtype_info(row.dtype).name;
  row_.shape = model::format_shape(row.shape);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    row_.values[i].clear();
    columns_[i](row_.values[i], row);
  }
  return table->append(row_);
}

Result<> StatisticTables::flush() {
  for (auto& [key, table] : tables_) OPDUMP_CHECK_OK(table.flush());
  return ok();
}

Result<> StatisticTables::close(std::int64_t graph_id, std::int64_t step) {
  const auto found =
      std::ranges::find(tables_, std::pair(step, graph_id), &decltype(tables_)::value_type::first);
  if (found == tables_.end()) return ok();
  OPDUMP_CHECK_OK(found->second.flush());
  tables_.erase(found);
  return ok();
}

}  // namespace opdump::dump
