#include "dump/read/files/statistic_rows.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file/file.h"
#include "base/text/text.h"
#include "format/tables/op_statistic_csv.h"
#include "format/tables/statistic_csv.h"

namespace opdump::dump {

namespace fs = std::filesystem;

namespace {

// "(2,3)", "(3)" or "()", and as CANN has it "2x3" and "-" of a scalar.
std::optional<model::Shape> parse_shape(std::string_view text) {
  if (text == "-") return model::Shape();
  if (!text.empty() && text.front() != '(') return format::parse_cann_shape(text);
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  if (text.empty()) return model::Shape();
  std::vector<std::int64_t> dims;
  for (const std::string_view piece : split(text, ',')) {
    const auto dim = parse_int64(trim(piece));
    if (!dim) return std::nullopt;
    dims.push_back(*dim);
  }
  return model::Shape(dims);
}

std::optional<Slot> parse_row(const format::StatisticCsvRow& row,
                              const std::shared_ptr<const std::vector<std::string>>& columns) {
  const std::string io = to_lower(row.io);
  const bool is_input = io == model::kSideNames[0];
  const auto index = parse_uint64(row.slot);
  const auto timestamp = parse_uint64(row.timestamp);
  if ((!is_input && io != model::kSideNames[1]) || !index || *index > UINT32_MAX || !timestamp)
    return std::nullopt;
  Slot slot;
  slot.side = is_input ? model::Side::input : model::Side::output;
  slot.index = static_cast<std::uint32_t>(*index);
  slot.timestamp_us = *timestamp;
  slot.format = row.format;
  const auto dtype = model::find_dtype(row.dtype);
  slot.dtype = dtype ? *dtype : format::find_cann_dtype(row.dtype);
  slot.shape = parse_shape(row.shape);
  slot.statistics = SlotStatistics(columns, PackedTexts(row.values));
  return slot;
}

}  // namespace

void add_statistic_rows(const fs::path& path, SlotsByOperator& slots, Problems& problems) {
  const auto file = MappedFile::open(path);
  if (!file) {
    problems.push_back({path, file.error().message()});
    return;
  }
  if (file->bytes().empty()) return;
  std::shared_ptr<const std::vector<std::string>> names;
  std::uint64_t damaged = 0;
  const auto take = [&](std::span<const std::string> columns, format::StatisticCsvRow row) {
    if (!names) names = std::make_shared<const std::vector<std::string>>(columns.begin(), columns.end());
    auto slot = parse_row(row, names);
    if (!slot) {
      ++damaged;
      return;
    }
    const std::uint64_t task = parse_uint64(row.task_id).value_or(0);
    const std::int64_t stream = parse_int64(row.stream_id).value_or(0);
    slots.add({row.op_type, row.op_name}, {std::move(*slot), task, stream});
  };
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  const auto csv = format::decode_statistic_csv(text, take);
  if (!csv) {
    problems.push_back({path, csv.error().message()});
    return;
  }
  damaged += csv->damaged_rows;
  if (damaged > 0) problems.push_back({path, std::to_string(damaged) + " damaged rows"});
}

}  // namespace opdump::dump
