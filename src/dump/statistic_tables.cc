#include "dump/statistic_tables.h"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <type_traits>

#include "base/text.h"

namespace opdump::dump {
namespace {

constexpr std::size_t kRowBufferBytes = 64 << 10;
constexpr std::size_t kMaxOpen = 32;  // the tables of the oldest steps are closed first

template <auto Field>
void append_number(std::string& out, const StatisticRow& row) {
  const auto value = row.values.*Field;
  if constexpr (std::is_floating_point_v<decltype(value)>)
    append_g(out, value);
  else
    out += std::to_string(value);
}

}  // namespace

const StatisticTables::Column StatisticTables::kColumns[] = {
    {"Max Value", append_number<&math::Statistics::max>},
    {"Min Value", append_number<&math::Statistics::min>},
    {"Avg Value", append_number<&math::Statistics::avg>},
    {"Count", append_number<&math::Statistics::count>},
    {"Negative Zero Count", append_number<&math::Statistics::negative_count>},
    {"Positive Zero Count", append_number<&math::Statistics::positive_count>},
    {"NaN Count", append_number<&math::Statistics::nan_count>},
    {"Negative Inf Count", append_number<&math::Statistics::negative_inf_count>},
    {"Positive Inf Count", append_number<&math::Statistics::positive_inf_count>},
    {"Zero Count", append_number<&math::Statistics::zero_count>},
    {"MD5", [](std::string& out, const StatisticRow& row) { out += row.md5; }},
    {"L2Norm Value", append_number<&math::Statistics::l2norm>},
};

StatisticTables::Table::~Table() {
  if (!fd_) return;
  (void)flush();
  ::fchmod(fd_.get(), 0400);
}

Result<> StatisticTables::Table::append(const format::StatisticCsvRow& row) {
  format::append_statistic_row(rows_, row);
  return rows_.size() < kRowBufferBytes ? ok() : flush();
}

// One call for whole lines: other processes may append to the same file.
Result<> StatisticTables::Table::flush() {
  Result<> written = write_all(fd_, std::as_bytes(std::span(rows_)), path_);
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

Result<StatisticTables::Table*> StatisticTables::find(StepDirectories& directories,
                                                      const SlotAddress& address) {
  const std::pair key{address.step, address.graph_id};
  if (const auto found = tables_.find(key); found != tables_.end()) return &found->second;
  if (tables_.size() == kMaxOpen) {
    const auto oldest = tables_.begin();
    OPDUMP_CHECK_OK(oldest->second.flush());
    tables_.erase(oldest);
  }
  OPDUMP_TRY(const auto directory, directories.find(address));
  std::filesystem::path path = directory->path / format::kStatisticCsvName;
  OPDUMP_TRY(Fd fd, open_append(path, format::encode_statistic_header(headers_)));
  return &tables_.emplace(key, Table(std::move(fd), std::move(path))).first->second;
}

Result<> StatisticTables::append(StepDirectories& directories, const SlotAddress& address, RowName name,
                                 const StatisticRow& row) {
  OPDUMP_TRY(Table* const table, find(directories, address));
  row_.op_type = std::move(name.type);
  row_.op_name = std::move(name.name);
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
  const auto found = tables_.find({step, graph_id});
  if (found == tables_.end()) return ok();
  OPDUMP_CHECK_OK(found->second.flush());
  tables_.erase(found);
  return ok();
}

}  // namespace opdump::dump
