#include "dump/read/step_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <thread>
#include <tuple>
#include <utility>

#include "base/text/text.h"
#include "dump/file_name.h"
#include "dump/read/files/call_file.h"
#include "dump/read/files/debug_mode_files.h"
#include "dump/read/files/file_kind.h"
#include "dump/read/files/msprobe_files.h"
#include "dump/read/files/statistic_rows.h"
#include "dump/read/slots_by_operator.h"
#include "format/tables/mapping_csv.h"
#include "format/tables/op_statistic_csv.h"
#include "format/tables/statistic_csv.h"
#include "format/tensors/npy.h"

namespace opdump::dump {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxTableBytes = std::uint64_t{1} << 30;
constexpr std::size_t kCheckedByOneThread = 1000;  // files

// The text of a table in the directory; empty, with a problem, if it cannot be read.
std::string read_table(const fs::path& path, Problems& problems) {
  auto text = read_file(path, kMaxTableBytes);
  if (text) return std::move(*text);
  problems.push_back({path, text.error().message()});
  return {};
}

// Gives `files.names` the names that files had before.
void read_mapping(StepFiles& files, Problems& problems) {
  fs::path path = files.mapping;
  if (files.names.have_mapping()) path = files.directory / format::kMappingCsvName;
  if (path.empty()) return;
  const auto file = MappedFile::open(path);
  if (!file) {
    problems.push_back({path, file.error().message()});
    return;
  }
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  const std::uint64_t damaged = format::decode_mapping_csv(
      text,
      [&](std::string_view name, std::string_view original) { files.names.add_original(name, original); });
  if (damaged > 0) problems.push_back({path, std::to_string(damaged) + " damaged lines"});
}

void collect_npy(FileName name, const fs::path& path, SlotsByOperator& slots) {
  Slot slot;
  slot.side = name.side;
  slot.index = name.index;
  slot.timestamp_us = name.timestamp_us;
  slot.format = std::move(name.format);
  slot.dtype = model::find_dtype(name.dtype).value_or(model::DType::undefined);
  slot.file = path;
  slots.add({name.type, name.name}, {std::move(slot), name.task, name.stream});
}

// Raw elements: the name says all that is known of them.
void collect_legacy(LegacyName name, const fs::path& path, SlotsByOperator& slots, Problems& problems) {
  Slot slot;
  slot.side = name.side;
  slot.index = name.index;
  slot.format = std::move(name.format);
  slot.dtype = name.dtype;
  std::error_code failed;
  const std::uintmax_t bytes = fs::file_size(path, failed);
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
  slots.add({name.type, name.name}, {std::move(slot)});
}

void collect_call(const CallName& name, const fs::path& path, SlotsByOperator& slots,
                  const TakeOverflow& take_overflow, Problems& problems) {
  if (is_overflow_record(name)) {
    if (auto overflow = read_overflow_file(path))
      take_overflow(std::move(*overflow));
    else
      problems.push_back({path, overflow.error().message()});
    return;
  }
  for (Slot& slot : read_call_file(path, name.timestamp_us, problems))
    slots.add({name.type, name.name}, {std::move(slot), name.task, name.stream});
}

void collect_named(NamedSlot named, std::optional<std::int64_t> step, SlotsByOperator& slots) {
  TensorName& name = named.name;
  slots.add({name.type, name.name, name.execution, step}, {std::move(named.slot), name.task, name.stream});
}

// A .npy file that is not named as MindSpore names them.
void collect_other_npy(std::string_view name, const fs::path& path, const StepFiles& files,
                       SlotsByOperator& slots, Problems& problems) {
  if (name.ends_with(kNpyExtension)) name.remove_suffix(kNpyExtension.size());
  if (!files.prefix && !parse_tensor_name(name)) {
    problems.push_back({path, "not a tensor's name, and mapping.csv has no other for it"});
    return;
  }
  NamedSlot named;
  named.name = name_tensor(name, files.prefix.value_or(""));
  named.slot = make_slot(named.name);
  named.slot.file = path;
  collect_named(std::move(named), std::nullopt, slots);
}

// Names of what msaccucmp converted look alike, but for those of parts of an execution.
std::optional<FileName> find_mindspore_name(std::string_view name) {
  if (name.ends_with(kNpyExtension) && parse_tensor_name(name.substr(0, name.size() - kNpyExtension.size())))
    return std::nullopt;
  return parse_file_name(name);
}

// The table of one execution's statistics: a row is a slot.
void collect_op_statistics(const CallName& name, const fs::path& path, SlotsByOperator& slots,
                           Problems& problems) {
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
    slots.add({name.type, name.name}, {std::move(slot), name.task, name.stream});
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

// Other archives of a folder are distinguished by their own names; arrays of a single one need no other.
std::string archive_prefix(std::string_view name, const StepFiles& files) {
  if (files.is_alone) return {};
  return files.prefix.value_or("") + std::string(name.substr(0, name.rfind('.'))) + "/";
}

struct Collected {
  SlotStore& store;
  const TakeExecution& take;
  const TakeOverflow& take_overflow;
  const TakeStatus& take_status;
  SlotsByOperator slots;
  std::int64_t h5_files = 0;
};

void collect_h5(const fs::path& path, Collected& to, Problems& problems) {
  // Each is a recording of its own: they follow one another like steps.
  bool is_empty = true;
  const auto take = [&](OperatorRun run) {
    is_empty = false;
    run.step = to.h5_files;
    std::vector<std::uint32_t> slots;
    for (const Slot& slot : std::exchange(run.slots, {}))
      slots.push_back(to.store.add(slot, path.parent_path().string()));
    to.take(std::move(run), slots);
  };
  read_h5_file(path, problems, take, to.take_status);
  to.h5_files += !is_empty;
}

// Unlike those of other files, these are in order and know their operators.
void take_run(OperatorRun run, const fs::path& directory, Collected& to) {
  std::vector<std::uint32_t> slots;
  for (const Slot& slot : std::exchange(run.slots, {}))
    slots.push_back(to.store.add(slot, directory.string()));
  to.take(std::move(run), slots);
}

void collect_msprobe(const fs::path& path, Collected& to, Problems& problems) {
  read_msprobe_files(path, problems, [&](OperatorRun run) {
    take_run(std::move(run), path.parent_path() / kMsprobeData, to);
  });
}

void collect_fingerprints(const fs::path& path, const StepFiles& files, Collected& to, Problems& problems) {
  FingerprintFile own(path);
  FingerprintFile& file =
      files.followed != nullptr ? files.followed->try_emplace(path, path).first->second : own;
  file.read(problems);
  file.add_to(to.store, to.take);
}

// N of "log_rank3.json", "rank_3.json".
std::optional<std::uint32_t> find_file_rank(std::string_view stem) {
  constexpr std::string_view kRank = "rank", kDigits = "0123456789";
  const std::size_t first = stem.find_last_not_of(kDigits) + 1;
  const auto rank = parse_uint64(stem.substr(first));
  stem = stem.substr(0, first);
  if (stem.ends_with('_')) stem.remove_suffix(1);
  if (!stem.ends_with(kRank) || !rank || *rank > INT32_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(*rank);
}

void collect_debug_mode(std::string_view name, const fs::path& path, const StepFiles& files, Collected& to,
                        Problems& problems) {
  const auto rank = files.is_alone ? std::nullopt : find_file_rank(name.substr(0, name.rfind('.')));
  const std::string prefix = rank ? std::string() : archive_prefix(name, files);
  read_debug_mode_file(path, prefix, problems, [&](OperatorRun run) {
    run.rank = rank.value_or(0);
    take_run(std::move(run), path.parent_path(), to);
  });
}

// What SGLang's dumper saves: a tensor, or {"value": tensor, "meta": ...}.
void collect_tagged(const TaggedName& tagged, const fs::path& path, const StepFiles& files, Collected& to,
                    Problems& problems) {
  constexpr std::string_view kValue = "value", kMeta = "meta";
  read_torch_file(path, problems, [&](std::string_view inner, Slot slot) {
    if (inner.starts_with(kMeta)) return;
    if (inner.starts_with(kValue)) inner.remove_prefix(std::min(kValue.size() + 1, inner.size()));
    std::string name = files.prefix.value_or("") + tagged.name;
    if (!inner.empty()) name.append(".").append(inner);
    slot.timestamp_us = tagged.index;  // the order of the program
    to.slots.add({{}, name, 0, tagged.step, tagged.rank}, {std::move(slot)});
  });
}

// A file that is a tensor is named as a .npy file is.
void collect_torch(std::string_view name, const fs::path& path, const StepFiles& files, Collected& to,
                   Problems& problems) {
  const std::string_view stem = name.substr(0, name.rfind('.'));
  if (const auto tagged = parse_tagged_name(stem)) return collect_tagged(*tagged, path, files, to, problems);
  read_torch_file(path, problems, [&](const std::string& inner, Slot slot) {
    NamedSlot named{inner.empty() ? name_tensor(stem, files.prefix.value_or(""))
                                  : name_tensor(inner, archive_prefix(name, files)),
                    std::move(slot)};
    const Slot place = make_slot(named.name);
    named.slot.side = place.side;
    named.slot.index = place.index;
    named.slot.timestamp_us = place.timestamp_us;
    named.slot.argument = place.argument;
    collect_named(std::move(named), std::nullopt, to.slots);
  });
}

void collect_archive(decltype(read_npz_file) read, std::string_view name, const fs::path& path,
                     const StepFiles& files, Collected& to, Problems& problems) {
  const auto step = find_step(name);
  read(path, step ? "" : archive_prefix(name, files), problems,
       [&](NamedSlot slot) { collect_named(std::move(slot), step, to.slots); });
}

// `name` is the file's, or what mapping.csv has for it.
void collect_file(FileKind kind, std::string_view name, const fs::path& path, const StepFiles& files,
                  Collected& to, Problems& problems) {
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
                   {read_onnx_file(path, parse_test_data_name(name).value_or(TestDataName()), problems)});
      return;
    case FileKind::torch:
      return collect_torch(name, path, files, to, problems);
    case FileKind::msprobe:
      return collect_msprobe(path, to, problems);
    case FileKind::fingerprints:
      return collect_fingerprints(path, files, to, problems);
    case FileKind::debug_mode:
      return collect_debug_mode(name, path, files, to, problems);
    case FileKind::polygraphy:
      return read_polygraphy_file(path, problems,
                                  [&](std::int64_t iteration, const std::string& operator_name, Slot slot) {
                                    const std::int64_t step = find_iteration(name).value_or(0) + iteration;
                                    to.slots.add({{}, operator_name, 0, step}, {std::move(slot)});
                                  });
    case FileKind::op_statistics:
      return collect_op_statistics(call_name_of(without_csv(name)), path, to.slots, problems);
    case FileKind::legacy:
      return collect_legacy(*parse_legacy_name(name), path, to.slots, problems);
    case FileKind::call:
      return collect_call(call_name_of(name), path, to.slots, to.take_overflow, problems);
  }
}

void collect_files(StepFiles& files, Collected& to, Problems& problems) {
  read_mapping(files, problems);
  const auto collect = [&](const std::string& file, const std::string& name) {
    fs::path path = files.directory / file;
    std::error_code failed;
    // Links are followed where the user has named one.
    if (files.is_alone && fs::is_symlink(path, failed)) path = fs::canonical(path, failed);
    const FileKind kind = files.is_alone             ? sniff_kind(path, name)
                          : is_debug_mode_file(path) ? FileKind::debug_mode
                                                     : find_kind(name);
    collect_file(kind, name, path, files, to, problems);
  };
  files.names.drain(collect);
}

// Reads the header, and notes what the system knows of the file.
Result<format::NpyHeader> read_npy_header(Slot& slot) {
  const std::string& path = slot.file;
  OPDUMP_TRY(const InputFile file, open_input(path, O_NOFOLLOW));
  const Fd& fd = file.fd;
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

struct FileFacts {
  Slot slot;
  std::string fault;  // see check_tensor_file
};

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

void read_step(StepFiles files, SlotStore& store, Problems& problems, const TakeExecution& take,
               const TakeOverflow& take_overflow, const TakeStatus& take_status) {
  Collected collected{store, take, take_overflow, take_status,
                      SlotsByOperator(store, files.directory.string())};
  collect_files(files, collected, problems);
  if (files.names.have_statistics())
    add_statistic_rows(files.directory / format::kStatisticCsvName, collected.slots, problems);
  collected.slots.drain(take);
}

void check_tensor_files(SlotStore& store, std::span<const std::uint32_t> slots, Problems& problems) {
  std::vector<std::uint32_t> files;
  std::ranges::copy_if(slots, std::back_inserter(files),
                       [&](std::uint32_t i) { return store.is_npy_file(i); });
  std::vector<FileFacts> facts(files.size());
  std::atomic<std::size_t> next = 0;
  const auto check = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < files.size();) {
      facts[i].slot = store[files[i]];
      facts[i].fault = check_tensor_file(facts[i].slot);
    }
  };
  std::vector<std::thread> helpers;
  if (files.size() > kCheckedByOneThread)
    for (unsigned i = 1; i < std::min(std::thread::hardware_concurrency(), 8u); ++i)
      helpers.emplace_back(check);
  check();
  for (std::thread& helper : helpers) helper.join();

  for (std::size_t i = 0; i < files.size(); ++i) {
    auto& [slot, fault] = facts[i];
    if (!fault.empty()) {
      problems.push_back({std::exchange(slot.file, {}), fault});
      if (slot.statistics.empty()) slot.undumped_reason = std::move(fault);
    }
    store.set_file_facts(files[i], slot);
  }
}

}  // namespace opdump::dump
