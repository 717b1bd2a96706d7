#include "dump/step_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <thread>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "dump/file_name.h"
#include "format/mapping_csv.h"
#include "format/npy.h"
#include "format/statistic_csv.h"

namespace opdump::dump {
namespace {

constexpr std::uint64_t kMaxTableBytes = std::uint64_t{1} << 30;
constexpr std::size_t kCheckedByOneThread = 1000;  // files

// {type, name} -> its slots of all executions.
using SlotsByOperator = std::map<std::pair<std::string, std::string>, std::vector<Slot>>;

auto place(const Slot& slot) { return std::tuple(slot.side, slot.index); }
auto moment(const Slot& slot) { return std::tuple(slot.timestamp_us, slot.side, slot.index); }

// The text of a table in the directory; empty, with a problem, if it cannot be read.
std::string read_table(const std::filesystem::path& path, std::vector<Problem>& problems) {
  auto text = read_file(path, kMaxTableBytes);
  if (text) return std::move(*text);
  problems.push_back({path, text.error().message()});
  return {};
}

void collect_files(const StepFiles& files, SlotsByOperator& slots, std::vector<Problem>& problems) {
  format::MappingCsv mapping;
  if (std::ranges::find(files.names, format::kMappingCsvName) != files.names.end()) {
    const std::filesystem::path path = files.directory / format::kMappingCsvName;
    mapping = format::decode_mapping_csv(read_table(path, problems));
    if (mapping.damaged_lines > 0)
      problems.push_back({path, std::to_string(mapping.damaged_lines) + " damaged lines"});
  }
  for (const std::string& file : files.names) {
    if (!file.ends_with(".npy")) continue;
    const auto original = mapping.originals.find(file);
    auto name = parse_file_name(original == mapping.originals.end() ? file : original->second);
    if (!name) {
      problems.push_back(
          {files.directory / file, "not a tensor's name, and mapping.csv has no other for it"});
      continue;
    }
    Slot slot;
    slot.side = name->side;
    slot.index = name->index;
    slot.timestamp_us = name->timestamp_us;
    slot.format = std::move(name->format);
    slot.dtype = model::find_dtype(name->dtype).value_or(model::DType::undefined);
    slot.file = files.directory / file;
    slots[{std::move(name->type), std::move(name->name)}].push_back(std::move(slot));
  }
}

// "(2,3)", "(3)" or "()".
std::optional<model::Shape> parse_shape(std::string_view text) {
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

std::optional<Slot> parse_row(format::StatisticCsvRow& row, std::span<const std::string> columns) {
  const bool is_input = row.io == model::kSideNames[0];
  const auto index = parse_uint64(row.slot);
  const auto timestamp = parse_uint64(row.timestamp);
  if ((!is_input && row.io != model::kSideNames[1]) || !index || *index > UINT32_MAX || !timestamp)
    return std::nullopt;
  Slot slot;
  slot.side = is_input ? model::Side::input : model::Side::output;
  slot.index = static_cast<std::uint32_t>(*index);
  slot.timestamp_us = *timestamp;
  slot.dtype = model::find_dtype(row.dtype).value_or(model::DType::undefined);
  slot.shape = parse_shape(row.shape);
  slot.statistics.reserve(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i)
    slot.statistics.emplace_back(columns[i], std::move(row.values[i]));
  return slot;
}

void collect_rows(const std::filesystem::path& path, SlotsByOperator& slots, std::vector<Problem>& problems) {
  const std::string text = read_table(path, problems);
  if (text.empty()) return;
  auto csv = format::decode_statistic_csv(text);
  if (!csv) {
    problems.push_back({path, csv.error().message()});
    return;
  }
  std::uint64_t damaged = csv->damaged_rows;
  for (format::StatisticCsvRow& row : csv->rows) {
    if (auto slot = parse_row(row, csv->columns))
      slots[{std::move(row.op_type), std::move(row.op_name)}].push_back(std::move(*slot));
    else
      ++damaged;
  }
  if (damaged > 0) problems.push_back({path, std::to_string(damaged) + " damaged rows"});
}

// Of equal moments, a file and a row become one slot.
void join_files_and_rows(std::vector<Slot>& slots) {
  std::ranges::stable_sort(slots, {}, [](const Slot& slot) { return moment(slot); });
  std::vector<Slot> joined;
  joined.reserve(slots.size());
  for (Slot& slot : slots) {
    Slot* const last = joined.empty() ? nullptr : &joined.back();
    const bool is_row_of_last = last != nullptr && moment(*last) == moment(slot) &&
                                last->statistics.empty() && !last->shape && slot.file.empty();
    if (!is_row_of_last) {
      joined.push_back(std::move(slot));
      continue;
    }
    last->shape = std::move(slot.shape);
    last->statistics = std::move(slot.statistics);
    if (last->dtype == model::DType::undefined) last->dtype = slot.dtype;
  }
  slots = std::move(joined);
}

// Slots in order of time: a place that is taken already means that the operator ran again.
void split_executions(const std::pair<std::string, std::string>& type_and_name, std::vector<Slot> slots,
                      std::vector<OperatorRun>& runs) {
  std::vector<std::tuple<model::Side, std::uint32_t>> taken;
  std::size_t first = runs.size();
  for (Slot& slot : slots) {
    if (runs.size() == first || std::ranges::find(taken, place(slot)) != taken.end()) {
      OperatorRun& run = runs.emplace_back();
      run.type = type_and_name.first;
      run.name = type_and_name.second;
      taken.clear();
    }
    taken.push_back(place(slot));
    runs.back().slots.push_back(std::move(slot));
  }
  for (; first < runs.size(); ++first) std::ranges::sort(runs[first].slots, {}, place);
}

Result<format::NpyHeader> read_npy_header(const std::filesystem::path& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return io_error(path, "open");
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return io_error(path, "stat");
  const auto decode_start = [&](std::span<std::byte> buffer) -> Result<format::NpyHeader> {
    const ssize_t n = ::pread(fd.get(), buffer.data(), buffer.size(), 0);
    if (n < 0) return io_error(path, "read");
    return format::decode_npy_header(buffer.first(static_cast<std::size_t>(n)),
                                     static_cast<std::uint64_t>(info.st_size));
  };
  std::array<std::byte, 512> usual;
  auto header = decode_start(usual);
  if (header || info.st_size <= static_cast<off_t>(usual.size())) return header;
  std::vector<std::byte> longest(12 + format::kMaxNpyHeader);
  return decode_start(longest);
}

// What is wrong with the file; empty if nothing is.
std::string check_tensor_file(Slot& slot) {
  auto header = read_npy_header(slot.file);
  if (header) {
    if (!slot.shape) slot.shape = std::move(header->shape);
    return {};
  }
  const bool torn = header.error().code() == Code::corrupt;
  return (torn ? "torn file: " : "unusable file: ") + header.error().message();
}

}  // namespace

bool is_dump_file(std::string_view name) {
  return name.ends_with(".npy") || name == format::kStatisticCsvName;
}

std::vector<OperatorRun> read_step(const StepFiles& files, std::vector<Problem>& problems) {
  SlotsByOperator slots;
  collect_files(files, slots, problems);
  if (std::ranges::find(files.names, format::kStatisticCsvName) != files.names.end())
    collect_rows(files.directory / format::kStatisticCsvName, slots, problems);
  std::vector<OperatorRun> runs;
  for (auto& [type_and_name, of_operator] : slots) {
    join_files_and_rows(of_operator);
    split_executions(type_and_name, std::move(of_operator), runs);
  }
  return runs;
}

void check_tensor_files(std::span<OperatorRun> runs, std::vector<Problem>& problems) {
  std::vector<Slot*> slots;
  for (OperatorRun& run : runs)
    for (Slot& slot : run.slots)
      if (!slot.file.empty()) slots.push_back(&slot);
  std::vector<std::string> faults(slots.size());
  std::atomic<std::size_t> next = 0;
  const auto check = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < slots.size();) faults[i] = check_tensor_file(*slots[i]);
  };
  std::vector<std::thread> helpers;
  if (slots.size() > kCheckedByOneThread)
    for (unsigned i = 1; i < std::min(std::thread::hardware_concurrency(), 8u); ++i)
      helpers.emplace_back(check);
  check();
  for (std::thread& helper : helpers) helper.join();

  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (faults[i].empty()) continue;
    Slot& slot = *slots[i];
    problems.push_back({std::exchange(slot.file, {}), faults[i]});
    if (slot.statistics.empty()) slot.undumped_reason = std::move(faults[i]);
  }
}

}  // namespace opdump::dump
