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
#include "dump/call_file.h"
#include "dump/container_files.h"
#include "dump/file_kind.h"
#include "dump/file_name.h"
#include "dump/slots_by_operator.h"
#include "format/mapping_csv.h"
#include "format/npy.h"
#include "format/op_statistic_csv.h"
#include "format/statistic_csv.h"

namespace opdump::dump {
namespace {

constexpr std::uint64_t kMaxTableBytes = std::uint64_t{1} << 30;
constexpr std::size_t kCheckedByOneThread = 1000;  // files

auto place(const Slot& slot) { return std::tuple(slot.side, slot.index); }
auto moment(const Slot& slot) { return std::tuple(slot.timestamp_us, slot.side, slot.index); }

// The text of a table in the directory; empty, with a problem, if it cannot be read.
std::string read_table(const std::filesystem::path& path, std::vector<Problem>& problems) {
  auto text = read_file(path, kMaxTableBytes);
  if (text) return std::move(*text);
  problems.push_back({path, text.error().message()});
  return {};
}

format::MappingCsv read_mapping(const StepFiles& files, std::vector<Problem>& problems) {
  std::filesystem::path path = files.mapping;
  if (files.names.contains(format::kMappingCsvName)) path = files.directory / format::kMappingCsvName;
  if (path.empty()) return {};
  format::MappingCsv mapping = format::decode_mapping_csv(read_table(path, problems));
  if (mapping.damaged_lines > 0)
    problems.push_back({path, std::to_string(mapping.damaged_lines) + " damaged lines"});
  return mapping;
}

void collect_npy(FileName name, const std::filesystem::path& path, SlotsByOperator& slots) {
  Slot slot;
  slot.side = name.side;
  slot.index = name.index;
  slot.timestamp_us = name.timestamp_us;
  slot.format = std::move(name.format);
  slot.dtype = model::find_dtype(name.dtype).value_or(model::DType::undefined);
  slot.file = path;
  slots.add({std::move(name.type), std::move(name.name), 0, name.task, name.stream}, slot);
}

// Raw elements: the name says all that is known of them.
void collect_legacy(LegacyName name, const std::filesystem::path& path, SlotsByOperator& slots,
                    std::vector<Problem>& problems) {
  Slot slot;
  slot.side = name.side;
  slot.index = name.index;
  slot.format = std::move(name.format);
  slot.dtype = name.dtype;
  std::error_code failed;
  const std::uintmax_t bytes = std::filesystem::file_size(path, failed);
  const auto count = model::element_count(name.shape);
  const std::uint64_t needed =
      count ? model::TensorView{name.dtype, name.shape, {}, nullptr}.byte_count() : UINT64_MAX;
  if (failed)
    slot.undumped_reason = failed.message();
  else if (name.dtype == model::DType::undefined)
    slot.undumped_reason = "the name says no dtype we know";
  else if (needed != bytes)
    slot.undumped_reason = "torn file: " + std::to_string(bytes) + " bytes in file, and its name says " +
                           std::string(model::dtype_info(name.dtype).name) + " " +
                           model::format_shape(name.shape);
  if (slot.undumped_reason.empty()) {
    slot.file = path;
    slot.part = format::Extent{0, needed};
  } else {
    problems.push_back({path, slot.undumped_reason});
  }
  slot.shape = std::move(name.shape);
  slots.add({std::move(name.type), std::move(name.name)}, slot);
}

void collect_call(const CallName& name, const std::filesystem::path& path, SlotsByOperator& slots,
                  std::vector<Overflow>& overflows, std::vector<Problem>& problems) {
  if (is_overflow_record(name)) {
    if (auto overflow = read_overflow_file(path))
      overflows.push_back(std::move(*overflow));
    else
      problems.push_back({path, overflow.error().message()});
    return;
  }
  for (const Slot& slot : read_call_file(path, name.timestamp_us, problems))
    slots.add({name.type, name.name, 0, name.task, name.stream}, slot);
}

void collect_named(NamedSlot named, SlotsByOperator& slots) {
  TensorName& name = named.name;
  slots.add({std::move(name.type), std::move(name.name), name.execution, name.task, name.stream}, named.slot);
}

// A .npy file that is not named as MindSpore names them.
void collect_other_npy(std::string_view name, const std::filesystem::path& path, const StepFiles& files,
                       SlotsByOperator& slots, std::vector<Problem>& problems) {
  if (name.ends_with(kNpyExtension)) name.remove_suffix(kNpyExtension.size());
  if (!files.prefix && !parse_tensor_name(name)) {
    problems.push_back({path, "not a tensor's name, and mapping.csv has no other for it"});
    return;
  }
  NamedSlot named;
  named.name = name_tensor(name, files.prefix.value_or(""));
  named.slot = make_slot(named.name);
  named.slot.file = path;
  collect_named(std::move(named), slots);
}

// Names of what msaccucmp converted look alike, but for those of parts of an execution.
std::optional<FileName> find_mindspore_name(std::string_view name) {
  if (name.ends_with(kNpyExtension) && parse_tensor_name(name.substr(0, name.size() - kNpyExtension.size())))
    return std::nullopt;
  return parse_file_name(name);
}

// The table of one execution's statistics: a row is a slot.
void collect_op_statistics(const CallName& name, const std::filesystem::path& path, SlotsByOperator& slots,
                           std::vector<Problem>& problems) {
  auto csv = format::decode_op_statistic_csv(read_table(path, problems));
  if (!csv) {
    problems.push_back({path, csv.error().message()});
    return;
  }
  if (csv->damaged_rows > 0) problems.push_back({path, std::to_string(csv->damaged_rows) + " damaged rows"});
  for (format::OpStatisticRow& row : csv->rows) {
    Slot slot;
    slot.side = row.side;
    slot.index = row.index;
    slot.timestamp_us = name.timestamp_us;
    slot.format = row.format.empty() ? "DefaultFormat" : std::move(row.format);
    slot.dtype = row.dtype;
    slot.shape = std::move(row.shape);
    slot.statistics = row.values;
    if (slot.statistics.empty()) slot.undumped_reason = "no statistics of its dtype";
    slots.add({name.type, name.name, 0, name.task, name.stream}, slot);
  }
}

// The name by which the file's operator is known, if the file may be called anything: type and name may be
// empty.
CallName call_name_of(std::string_view name) {
  if (auto call = find_call_name(name)) return std::move(*call);
  return {{}, std::string(name), 0, 0, 0};
}

// An archive that is a step: "step_3.npz".
std::optional<std::int64_t> find_step(std::string_view name) {
  constexpr std::string_view kStep = "step_";
  if (!name.starts_with(kStep)) return std::nullopt;
  return parse_int64(name.substr(kStep.size(), name.rfind('.') - kStep.size()));
}

// Other archives of a folder are told apart by their own names; arrays of a single one need no other.
std::string archive_prefix(std::string_view name, const StepFiles& files) {
  if (files.is_alone) return {};
  return files.prefix.value_or("") + std::string(name.substr(0, name.rfind('.'))) + "/";
}

struct Collected {
  const TakeRun& take;
  SlotsByOperator slots;
  std::map<std::int64_t, SlotsByOperator> archives{};  // by step
  std::int64_t h5_files = 0;
  std::vector<Overflow> overflows{};
};

void collect_h5(const std::filesystem::path& path, Collected& to, std::vector<Problem>& problems) {
  std::vector<OperatorRun> runs = read_h5_file(path, problems);
  // Each is a recording of its own: they follow one another like steps.
  for (OperatorRun& run : runs) {
    run.step = to.h5_files;
    to.take(std::move(run));
  }
  to.h5_files += !runs.empty();
}

void collect_archive(decltype(read_npz_file) read, std::string_view name, const std::filesystem::path& path,
                     const StepFiles& files, Collected& to, std::vector<Problem>& problems) {
  const auto step = find_step(name);
  SlotsByOperator& slots =
      step ? to.archives.try_emplace(*step, files.directory.string()).first->second : to.slots;
  for (NamedSlot& slot : read(path, step ? "" : archive_prefix(name, files), problems))
    collect_named(std::move(slot), slots);
}

// `name` is the file's, or what mapping.csv has for it.
void collect_file(FileKind kind, std::string_view name, const std::filesystem::path& path,
                  const StepFiles& files, Collected& to, std::vector<Problem>& problems) {
  switch (kind) {
    case FileKind::none:
      return;
    case FileKind::npy:
      if (auto tensor = find_mindspore_name(name))
        collect_npy(std::move(*tensor), path, to.slots);
      else
        collect_other_npy(name, path, files, to.slots, problems);
      return;
    case FileKind::npz:
      return collect_archive(read_npz_file, name, path, files, to, problems);
    case FileKind::safetensors:
      return collect_archive(read_safetensors_file, name, path, files, to, problems);
    case FileKind::h5:
      return collect_h5(path, to, problems);
    case FileKind::onnx:
      to.slots.add({{}, "model"},
                   read_onnx_file(path, parse_test_data_name(name).value_or(TestDataName()), problems));
      return;
    case FileKind::op_statistics:
      return collect_op_statistics(call_name_of(without_csv(name)), path, to.slots, problems);
    case FileKind::legacy:
      return collect_legacy(*parse_legacy_name(name), path, to.slots, problems);
    case FileKind::call:
      return collect_call(call_name_of(name), path, to.slots, to.overflows, problems);
  }
}

void collect_files(const StepFiles& files, Collected& to, std::vector<Problem>& problems) {
  const format::MappingCsv mapping = read_mapping(files, problems);
  for (std::size_t i = 0; i < files.names.size(); ++i) {
    const std::string file(files.names[i]);
    const auto original = mapping.originals.find(file);
    const std::string& name = original == mapping.originals.end() ? file : original->second;
    const std::filesystem::path path = files.directory / file;
    collect_file(files.is_alone ? sniff_kind(path, name) : find_kind(name), name, path, files, to, problems);
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

std::optional<Slot> parse_row(const format::StatisticCsvRow& row,
                              const std::shared_ptr<const std::vector<std::string>>& columns) {
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
  slot.statistics = SlotStatistics(columns, PackedTexts(row.values));
  return slot;
}

void collect_rows(const std::filesystem::path& path, SlotsByOperator& slots, std::vector<Problem>& problems) {
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
    slots.add({std::move(row.op_type), std::move(row.op_name), 0, task, stream}, *slot);
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

// Of equal moments, a file and a row become one slot.
void join_files_and_rows(std::vector<Slot>& slots) {
  const auto is_row = [](const Slot& slot) { return slot.file.empty() && slot.undumped_reason.empty(); };
  std::ranges::stable_sort(slots, {}, [](const Slot& slot) { return moment(slot); });
  std::vector<Slot> joined;
  joined.reserve(slots.size());
  bool last_wants_row = false;
  for (Slot& slot : slots) {
    if (!last_wants_row || moment(joined.back()) != moment(slot) || !is_row(slot)) {
      last_wants_row = !is_row(slot);
      joined.push_back(std::move(slot));
      continue;
    }
    Slot& last = joined.back();
    if (!last.part) last.shape = std::move(slot.shape);
    last.statistics = std::move(slot.statistics);
    if (last.dtype == model::DType::undefined) last.dtype = slot.dtype;
    last_wants_row = false;
  }
  slots = std::move(joined);
}

// Slots in order of time: a place that is taken already means that the operator ran again.
void split_executions(const OperatorKey& op, std::vector<Slot> slots, std::int64_t step,
                      const TakeRun& take) {
  OperatorRun run;
  const auto finish = [&] {
    std::ranges::sort(run.slots, {}, place);
    take(std::exchange(run, {}));
  };
  std::vector<std::tuple<model::Side, std::uint32_t>> taken;
  for (Slot& slot : slots) {
    if (std::ranges::find(taken, place(slot)) != taken.end()) {
      finish();
      taken.clear();
    }
    if (taken.empty()) {
      run.step = step;
      run.type = op.type;
      run.name = op.name;
      run.task = op.task;
      run.stream = op.stream;
    }
    taken.push_back(place(slot));
    run.slots.push_back(std::move(slot));
  }
  finish();
}

void take_runs(SlotsByOperator& slots, std::int64_t step, const TakeRun& take) {
  slots.drain([&](const OperatorKey& op, std::vector<Slot> of_operator) {
    join_files_and_rows(of_operator);
    split_executions(op, std::move(of_operator), step, take);
  });
}

// Also notes what the system knows of the file.
Result<format::NpyHeader> read_npy_header(Slot& slot) {
  const std::string& path = slot.file;
  const Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return io_error(path, "open");
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return io_error(path, "stat");
  slot.file_bytes = static_cast<std::uint64_t>(info.st_size);
  if (info.st_nlink > 1) slot.linked = {info.st_dev, info.st_ino};
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
  auto header = read_npy_header(slot);
  if (header) {
    if (!slot.shape) slot.shape = std::move(header->shape);
    return {};
  }
  const bool torn = header.error().code() == Code::corrupt;
  return (torn ? "torn file: " : "unusable file: ") + header.error().message();
}

}  // namespace

void FileNames::add(std::string_view name) {
  if (const auto place = texts_.add(name))
    places_.push_back(*place);
  else
    ++left_out_;
}

void FileNames::sort() {
  std::ranges::sort(places_, {}, [&](std::uint32_t place) { return texts_.at(place); });
}

bool FileNames::contains(std::string_view name) const {
  return std::ranges::any_of(places_, [&](std::uint32_t place) { return texts_.at(place) == name; });
}

bool have_dump_file(const FileNames& names) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == format::kStatisticCsvName || names[i] == format::kMappingCsvName ||
        find_kind(names[i]) != FileKind::none)
      return true;
  return false;
}

std::vector<Overflow> read_step(const StepFiles& files, std::vector<Problem>& problems, const TakeRun& take) {
  Collected collected{take, SlotsByOperator(files.directory.string())};
  collect_files(files, collected, problems);
  if (files.names.contains(format::kStatisticCsvName))
    collect_rows(files.directory / format::kStatisticCsvName, collected.slots, problems);
  std::uint64_t left_out = files.names.left_out() + collected.slots.left_out();
  take_runs(collected.slots, 0, take);
  for (auto& [step, slots] : collected.archives) {
    left_out += slots.left_out();
    take_runs(slots, step, take);
  }
  if (left_out > 0)
    problems.push_back({files.directory, counted(left_out, "file") + " or tensors more than can be read"});
  return std::move(collected.overflows);
}

void check_tensor_files(std::span<OperatorRun> runs, std::vector<Problem>& problems) {
  std::vector<Slot*> slots;
  for (OperatorRun& run : runs)
    for (Slot& slot : run.slots)
      if (!slot.file.empty() && !slot.part && slot.packing == Packing::none) slots.push_back(&slot);
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
