// `opdump convert DUMP -o OUT --to npy`: the tensors of a dump as files that other programs read.
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "base/worker_pool.h"
#include "cli/arguments.h"
#include "cli/array_file.h"
#include "cli/array_text.h"
#include "cli/convert_slots.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/select.h"
#include "cli/slot_facts.h"
#include "cli/verb.h"
#include "format/npy.h"
#include "format/safetensors.h"
#include "format/zip_writer.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBigFile = 32 << 20;  // converted alone, by all threads
constexpr std::size_t kAlignment = 64;        // of arrays in .npz

struct ConvertArguments {
  std::string path, output, to = "npy", format, slot;
  RunFilter filter;
};

void declare(CLI::App& app, ConvertArguments& arguments) {
  app.add_option("DUMP", arguments.path, "A dump: its root or any directory below")->required();
  app.add_option("-o,--output", arguments.output, "Where the files go; made if it is missing")->required();
  app.add_option("--to", arguments.to,
                 "npy (default), bin, txt, pt: a file for each tensor; npz, safetensors: one for each step")
      ->check(CLI::IsMember({"npy", "bin", "txt", "pt", "npz", "safetensors"}));
  app.add_option("--format", arguments.format,
                 "The layout to bring accelerator's tensors into: NCHW, ND, ...");
  app.add_option("--op", arguments.filter.op, "Only operators of this name, or with this in their name");
  app.add_option("--step", arguments.filter.step, "Only this step");
  app.add_option("--slot", arguments.slot, "Only this slot of each: input.0, output.1, ...");
  app.footer(
      "Examples:\n"
      "  opdump convert golden -o arrays\n"
      "  opdump convert golden -o arrays --to safetensors --step 3\n"
      "  opdump convert cann_dump -o arrays --to npz --format NCHW --op conv --slot output.0");
}

// Makes `directory` below `root`. What is a link already leads elsewhere, and is refused.
Result<> make_inside(const fs::path& root, const fs::path& directory) {
  OPDUMP_CHECK_OK(make_directories(root, 0700));
  fs::path path = root;
  for (const fs::path& part : directory) {
    path /= part;
    struct stat info {};
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return io_error(path, "create directory");
    if (::lstat(path.c_str(), &info) != 0) return io_error(path, "stat");
    if (!S_ISDIR(info.st_mode)) return Error(Code::io, path.string() + ": not a directory");
  }
  return ok();
}

class Converter {
 public:
  Converter(const ConvertArguments& arguments, std::vector<StepSlots> steps)
      : arguments_(arguments), steps_(std::move(steps)), progress_("converting") {
    if (!arguments.format.empty()) format_ = model::find_format(arguments.format);
    for (const StepSlots& step : steps_)
      for (const NamedSlot& slot : step.slots) total_bytes_ += file_bytes(*slot.slot);
  }

  Result<> run() {
    for (const StepSlots& step : steps_)
      OPDUMP_CHECK_OK(make_inside(arguments_.output, is_file_each() ? step.place : step.place.parent_path()));
    if (is_file_each())
      convert_slots();
    else
      parallel_for(steps_.size(), 0, [&](std::size_t i) { convert_step(steps_[i]); });
    return ok();
  }

  std::uint64_t converted() const { return converted_; }
  std::uint64_t failed() const { return failed_; }

 private:
  bool is_file_each() const { return arguments_.to != "npz" && arguments_.to != "safetensors"; }

  void convert_slots() {
    std::vector<std::pair<const StepSlots*, const NamedSlot*>> small, big;
    for (const StepSlots& step : steps_)
      for (const NamedSlot& slot : step.slots)
        (file_bytes(*slot.slot) <= kBigFile ? small : big).emplace_back(&step, &slot);
    parallel_for(small.size(), 0, [&](std::size_t i) { convert_slot(*small[i].first, *small[i].second, 1); });
    for (const auto& [step, slot] : big) convert_slot(*step, *slot, worker_count(0));
  }

  void convert_slot(const StepSlots& step, const NamedSlot& slot, unsigned threads) {
    const fs::path path = fs::path(arguments_.output) / step.place / (slot.name + "." + arguments_.to);
    const auto write = [&]() -> Result<> {
      OPDUMP_TRY(Array array, open_slot(*slot.slot, format_, threads));
      if (arguments_.to == "npy") return write_npy(array, false, path);
      if (arguments_.to == "bin") return write_elements(array, path);
      if (arguments_.to == "txt") return write_text(array, path);
      return write_torch(array, path);
    };
    note(slot, write());
  }

  void note(const NamedSlot& slot, const Result<>& written) {
    const std::lock_guard lock(mutex_);
    done_bytes_ += file_bytes(*slot.slot);
    ++(written ? converted_ : failed_);
    if (!written) print_error(slot.name + ": " + written.error().message());
    progress_.update(done_bytes_, total_bytes_);
  }

  // What the file of a step says of an array before its elements. These are read when it is their turn, so
  // that one array at a time is in memory.
  struct Entry {
    const NamedSlot* slot = nullptr;
    model::DType dtype = model::DType::undefined;
    model::Shape shape;
  };

  // The arrays of a step that can be opened; the others are told.
  std::vector<Entry> list_entries(const StepSlots& step) {
    std::vector<Entry> entries;
    for (const NamedSlot& slot : step.slots) {
      const auto array = open_slot(*slot.slot, format_, 1);
      const bool is_known =
          array && (arguments_.to == "npz" || !format::safetensors_dtype(array->dtype).empty());
      if (is_known)
        entries.push_back({&slot, array->dtype, array->shape});
      else
        note(slot, array ? Error(Code::unsupported, "." + arguments_.to + " has no " +
                                                        std::string(model::dtype_info(array->dtype).name))
                         : array.error());
    }
    return entries;
  }

  void convert_step(const StepSlots& step) {
    const fs::path path = fs::path(arguments_.output) / (step.place.string() + "." + arguments_.to);
    const std::vector<Entry> entries = list_entries(step);
    const auto write = [&]() -> Result<> {
      OPDUMP_TRY(const Fd fd, create_file(path, 0600));
      return arguments_.to == "npz" ? write_archive(entries, fd, path) : write_safetensors(entries, fd, path);
    };
    const auto written = write();
    for (const Entry& entry : entries) note(*entry.slot, written);
    std::error_code error;
    if (!written) fs::remove(path, error);
  }

  Result<> write_archive(const std::vector<Entry>& entries, const Fd& fd, const fs::path& path) {
    format::ZipWriter zip(fd, path);
    for (const Entry& entry : entries) {
      OPDUMP_TRY(const std::string header,
                 format::encode_npy_header(entry.dtype, entry.shape, format::NpySpelling::numpy));
      OPDUMP_TRY(Array array, open_slot(*entry.slot->slot, format_, 1));
      OPDUMP_CHECK_OK(zip.begin(entry.slot->name + ".npy", header.size() + array.byte_count(), kAlignment));
      OPDUMP_CHECK_OK(zip.add(std::as_bytes(std::span(header))));
      for (;;) {
        OPDUMP_TRY(const auto piece, array.pieces->next());
        if (piece.empty()) break;
        OPDUMP_CHECK_OK(zip.add(piece));
      }
      OPDUMP_CHECK_OK(zip.end());
    }
    return zip.finish();
  }

  Result<> write_safetensors(const std::vector<Entry>& entries, const Fd& fd, const fs::path& path) {
    std::vector<format::SafetensorsEntry> header;
    for (const Entry& entry : entries) header.push_back({entry.slot->name, entry.dtype, entry.shape});
    OPDUMP_TRY(const std::string text, format::encode_safetensors_header(header));
    OPDUMP_CHECK_OK(write_all(fd, std::as_bytes(std::span(text)), path));
    for (const Entry& entry : entries) {
      OPDUMP_TRY(Array array, open_slot(*entry.slot->slot, format_, 1));
      OPDUMP_CHECK_OK(write_pieces(*array.pieces, fd, path));
    }
    return ok();
  }

  const ConvertArguments& arguments_;
  std::vector<StepSlots> steps_;
  std::optional<model::Format> format_;
  std::mutex mutex_;  // guards what follows
  Progress progress_;
  std::uint64_t total_bytes_ = 0, done_bytes_ = 0, converted_ = 0, failed_ = 0;
};

}  // namespace

Result<int> run_convert(std::span<const char* const> args) {
  CLI::App app("Writes the tensors of a dump as files that other programs read.", "opdump convert");
  ConvertArguments arguments;
  declare(app, arguments);
  if (auto stop = parse_arguments(app, args)) return *stop;
  if (!arguments.format.empty() && !model::find_format(arguments.format))
    return Error(Code::usage,
                 "--format: there is no layout " + arguments.format + "; expected NCHW, NHWC, ND, ...");
  OPDUMP_TRY(const dump::DumpSet dump, dump::DumpSet::open(arguments.path));
  OPDUMP_TRY(const auto runs, select_runs(dump, arguments.filter));
  std::vector<StepSlots> steps = list_slots(runs, arguments.slot);
  if (steps.empty())
    return Error(Code::not_found,
                 arguments.path + ": no tensor to convert: statistics only, or another --slot");
  Converter converter(arguments, std::move(steps));
  OPDUMP_CHECK_OK(converter.run());
  std::string text =
      "converted " + std::to_string(converter.converted()) + " tensors into " + arguments.output;
  for (const dump::Problem& problem : dump.problems())
    print_error(problem.path.string() + ": " + problem.what);
  if (converter.failed() > 0) text += "; " + std::to_string(converter.failed()) + " could not be";
  print(text + "\n");
  const bool is_whole = converter.failed() == 0 && dump.problems().empty();
  return static_cast<int>(is_whole ? Exit::match : Exit::incomplete);
}

}  // namespace opdump::cli
