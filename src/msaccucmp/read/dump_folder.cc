#include "msaccucmp/read/dump_folder.h"

#include <re2/re2.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "base/file/file.h"
#include "base/text/concat.h"
#include "base/text/text.h"
#include "base/text/text_arena.h"
#include "dump/read/original_names.h"
#include "format/graphs/fusion_json.h"
#include "format/tables/mapping_csv.h"
#include "msaccucmp/log.h"

namespace opdump::msaccucmp {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFailedList = "convert_failed_file_list.txt";
constexpr std::string_view kSlice = "_lxslice", kSliceGraph = "_sgt_graph";
constexpr std::size_t kTimeDigits = 16;      // microseconds since the epoch
constexpr std::size_t kMostDigits = 255;     // of a time
constexpr std::size_t kShortNameFields = 5;  // of a name without task type, context, thread and device
constexpr std::uint64_t kMaxMapping = 1 << 30, kLargeFile = 100 << 20;

// Names of operators that only a quantised model has.
constexpr std::string_view kQuantisedNames[] = {
    "_quant_layer",  "_anti_quant_layer", "AscendQuant",    "AscendWeightQuant", "AntiQuant", "_quant",
    "_weight_quant", "_anti_quant",       "_dequant_layer", "AscendDequant",     "_dequant"};

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

using Fields = std::span<const std::string_view>;  // of a name, between its points

// The operator that slices of it are named after.
std::string unsliced(std::string name, bool has_rules) {
  if (has_rules && name.find(kSlice) != std::string::npos) return format::without_slices(name);
  static const RE2 last_slice(R"(_lxslice[0-9]+$)"), graph(R"(.*sgt_graph_[0-9]+[^0-9](.+))");
  static const RE2 ends_in_graph(R"(.*sgt_graph_[0-9]+)");  // and is that graph, whatever comes before
  if (name.find(kSlice) != std::string::npos) RE2::Replace(&name, last_slice, "");
  if (name.find(kSliceGraph) != std::string::npos && !RE2::FullMatch(name, ends_in_graph))
    RE2::FullMatch(std::string(name), graph, &name);
  return name;
}

struct RecognisedFile {
  std::string key;
  DumpKind kind = DumpKind::npu;
  bool is_npy = false;
};

// {type}.{operator}.{task}(.{stream}).{time}, and whatever follows.
bool is_npu_name(Fields fields) {
  return fields.size() >= 4 && is_word(fields[0]) && is_word(fields[1]) && is_digits(fields[2]) &&
         is_digits(fields[3].substr(0, 1));
}

// {operator}.{output}.{time}.{suffix}; the operator of a .npy file may have points.
bool is_output_name(Fields fields, bool is_npy) {
  const std::size_t count = fields.size();
  if (count < 4 || (count > 4 && !is_npy)) return false;
  const Fields op = fields.first(count - 3);
  const bool is_op = count == 4 ? is_word(op[0]) : std::ranges::all_of(op, [](std::string_view field) {
    return field.empty() || is_word(field);
  });
  return is_op && is_digits(fields[count - 3]) && is_digits(fields[count - 2]) &&
         fields[count - 2].size() <= kMostDigits;
}

std::optional<RecognisedFile> recognise(const std::string& name, Fields fields) {
  RecognisedFile found;
  found.is_npy = fields.back() == "npy";
  const bool is_quant = fields.back() == "quant";
  if (found.is_npy || is_quant || fields.back() == "pb") {
    found.kind = is_quant ? DumpKind::quantised : DumpKind::original;
    if (!is_output_name(fields, found.is_npy)) return std::nullopt;
    const std::string_view output = fields[fields.size() - 3];
    found.key.assign(name.data(), output.data() + output.size());
    return found;
  }
  if (!is_npu_name(fields)) return std::nullopt;
  found.key = fields[1];
  return found;
}

std::string_view expected_name(const std::string& name) {
  if (name.ends_with(".npy")) return "op_name.output_index.timestamp.npy";
  if (name.ends_with(".pb")) return "op_name.output_index.timestamp.pb";
  if (name.ends_with(".quant")) return "op_name.output_index.timestamp.quant";
  return "op_type.op_name.task_id(.stream_id).timestamp";
}

std::uint64_t time_in(Fields fields, TaskMode mode) {
  std::string_view time = fields.back();
  if (mode != TaskMode::normal)
    time = fields.size() > 4 ? fields[4] : std::string_view();
  else if (time == "npy" || time == "pb" || time == "quant")
    time = fields[fields.size() - 2];
  return time.size() == kTimeDigits && is_digits(time) ? parse_uint64(time).value_or(0) : 0;
}

// The thread, or the number of the slice.
std::uint64_t slice_in(Fields fields, TaskMode mode) {
  if (mode == TaskMode::automatic) return parse_uint64(fields[fields.size() - 2]).value_or(0);
  const std::string_view op = fields.size() > 1 ? fields[1] : std::string_view();
  const std::size_t at = op.rfind(kSlice);
  if (mode == TaskMode::normal || at == std::string_view::npos) return 0;
  return parse_uint64(op.substr(at + kSlice.size())).value_or(0);
}

}  // namespace

class DumpFolder::Scanner {
 public:
  Scanner(DumpFolder& folder, bool in_slices, bool has_rules, Log& log)
      : folder_(folder), in_slices_(in_slices), has_rules_(has_rules), log_(log) {}

  Outcome<std::monostate> scan() {
    OPDUMP_CHECK_OK(list());
    read_mapping();
    for (const std::string_view name : names_) OPDUMP_CHECK_OK(add(std::string(name)));
    if (!has_kind_)
      return log_.fail(Status::dump_file, "No valid dump files in the path \"'" + folder_.path_ + "'\".");
    if (folder_.kind_ == DumpKind::original && only_npy_ && folder_.is_quantised_)
      folder_.kind_ = DumpKind::quantised;
    folder_.files_.sort();
    return std::monostate{};
  }

 private:
  // The names of the files in the folder.
  Outcome<std::monostate> list() {
    std::error_code error;
    for (fs::directory_iterator it(folder_.path_, error), end; !error && it != end; it.increment(error)) {
      const std::string& path = it->path().native();
      const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
      folder_.holds_npy_ = folder_.holds_npy_ || name.ends_with(".npy");
      if (!it->is_regular_file(error) || name == format::kMappingCsvName || name == kFailedList) continue;
      names_.push_back(TextArena::view(texts_.add(name)));
    }
    if (error) return log_.fail(Status::open_file, "Failed to read \"'" + folder_.path_ + "'\".");
    std::ranges::sort(names_);
    return std::monostate{};
  }

  void read_mapping() {
    std::error_code error;
    has_mapping_ = fs::exists(mapping_path(), error);
    if (!has_mapping_) return;
    warn_of_size(mapping_path(), log_);
    const auto file = MappedFile::open(mapping_path());
    if (!file || file->bytes().size() > kMaxMapping) return;
    std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
    while (!text.empty()) {
      std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      if (line.ends_with('\r')) line.remove_suffix(1);
      add_mapping(line);
    }
  }

  // A line holds a name, and what it stands for.
  void add_mapping(std::string_view line) {
    const std::vector<std::string_view> cells = split(line, ',');
    if (cells.size() == 2) return originals_.add(cells[0], cells[1]);
    report_damaged(line.empty() ? std::vector<std::string>()
                                : std::vector<std::string>(cells.begin(), cells.end()));
  }

  void report_damaged(const std::vector<std::string>& cells) {
    log_.error("The content (" + list_of(cells) + ") of the mapping file \"'" + mapping_path() +
               "'\" is invalid.");
  }

  // What the file was called before its name was too long, or nothing if that is not known.
  Outcome<std::optional<std::string>> full_name(const std::string& name) {
    const bool is_hash =
        is_digits(name) || (name.ends_with(".npy") && is_digits(name.substr(0, name.size() - 4)));
    if (!is_hash) return std::optional(name);
    const std::string mapping = mapping_path();
    if (!has_mapping_) {
      log_.warn("The file name \"" + name + "\" corresponding mapping file \"" + mapping +
                "\" is not exist.");
      return std::optional<std::string>();
    }
    const std::optional<std::string_view> original = originals_.find(name);
    if (original) return std::optional(std::string(*original));
    log_.warn("The file name \"" + name + "\" in the file \"" + mapping + "\" is not exist.");
    return std::optional<std::string>();
  }

  void report_invalid(const std::string& name, bool is_mapped) {
    const std::string begin = "The file name \"" + name + "\" in the ";
    const std::string expected(expected_name(name));
    if (is_mapped)
      log_.warn(begin + "file \"" + mapping_path() + "\" is invalid. It only supports " + expected);
    else
      log_.warn(begin + "path \"" + folder_.path_ + "\"is invalid, only supports " + expected);
  }

  std::string mapping_path() const { return folder_.path_ + "/" + std::string(format::kMappingCsvName); }

  Outcome<std::monostate> add(const std::string& file) {
    OPDUMP_TRY(const std::optional<std::string> name, full_name(file));
    if (!name) return std::monostate{};
    const std::vector<std::string_view> fields = split(*name, '.');
    auto found = recognise(*name, fields);
    if (!found) {
      report_invalid(*name, *name != file);
      return std::monostate{};
    }
    if (!in_slices_) {
      found->key = unsliced(std::move(found->key), has_rules_);
      if (found->key.find(kSlice) != std::string::npos) return std::monostate{};
    }
    OPDUMP_TRY(const TaskMode mode, mode_of(*name, fields));
    if (has_quantisation(*found)) folder_.is_quantised_ = true;
    if (has_kind_ &&
        (folder_.kind_ != found->kind || (found->kind == DumpKind::original && only_npy_ != found->is_npy)))
      return log_.fail(Status::dump_file, "Not all files in the path \"'" + folder_.path_ +
                                              "'\" are of the same type, such as \"" + *name + "\".");
    has_kind_ = true;
    folder_.kind_ = found->kind;
    only_npy_ = found->is_npy;
    folder_.files_.add({found->key, file, mode, slice_in(fields, mode), time_in(fields, mode)});
    return std::monostate{};
  }

  static bool has_quantisation(const RecognisedFile& found) {
    if (found.kind != DumpKind::npu && (found.kind == DumpKind::quantised || !found.is_npy)) return false;
    return std::ranges::any_of(
        kQuantisedNames, [&](std::string_view word) { return found.key.find(word) != std::string::npos; });
  }

  Outcome<TaskMode> mode_of(const std::string& name, Fields fields) {
    if (fields.back() == "npy" || fields.size() <= kShortNameFields) return TaskMode::normal;
    const std::string_view type = fields[fields.size() - 4];
    if (type.size() != 1 || type[0] < '0' || type[0] > '4')
      return report_task_type(name, type, fields.back());
    if (type[0] != '4') return TaskMode::normal;
    return name.find(kSlice) != std::string::npos ? TaskMode::manual : TaskMode::automatic;
  }

  // The original ends here without a word.
  Failure report_task_type(const std::string& name, std::string_view type, std::string_view suffix) {
    const std::string file = "The file \"" + name + "\" in the path \"" + folder_.path_ + "\" ";
    if (suffix == "csv")
      return log_.fail(Status::task_type,
                       file +
                           "is a table of statistics (\"dump_data\": \"stats\"), and tensors are "
                           "compared here. \"opdump compare\" compares statistics.");
    return log_.fail(Status::task_type, file + "has the task type \"" + std::string(type) +
                                            "\" in its name, which is none of 0 to 4.");
  }

  DumpFolder& folder_;
  bool in_slices_, has_rules_;
  Log& log_;
  bool has_kind_ = false, only_npy_ = false, has_mapping_ = false;
  TextArena texts_;
  std::vector<std::string_view> names_;  // of all files, sorted
  dump::OriginalNames originals_;
};

Outcome<DumpFolder> DumpFolder::scan(const std::string& path, bool in_slices, bool has_rules, Log& log) {
  DumpFolder folder;
  folder.path_ = path;
  folder.files_ = FilesByOperator(path);
  OPDUMP_TRY([[maybe_unused]] const std::monostate done, Scanner(folder, in_slices, has_rules, log).scan());
  return folder;
}

Outcome<OperatorFiles> DumpFolder::find(std::string_view op, std::optional<std::int64_t> output) const {
  std::string key(op);
  for (char& c : key)
    if (c == '/' || c == '.') c = '_';
  if (output) key += "." + std::to_string(*output);
  auto files = files_.find(key);
  if (!files) return Failure{Status::no_dump_file, ""};
  return std::move(*files);
}

std::string DumpFolder::list_of(const std::vector<std::string>& paths) {
  std::string text = "[";
  text.reserve(2 + paths.size() * (paths.empty() ? 0 : paths.front().size() + 4));
  for (const std::string& path : paths) text.append(text.size() > 1 ? ", '" : "'").append(path).append("'");
  return text + "]";
}

std::string_view DumpFolder::kind_word() const {
  constexpr std::string_view kWords[] = {"Offline", "Standard", "Quant"};
  return kWords[static_cast<std::size_t>(kind_)];
}

std::string DumpFolder::description() const {
  const std::string side = "side is dump data of the ";
  if (kind_ == DumpKind::original) return side + "unquantized original model";
  if (kind_ == DumpKind::quantised) return side + "quantized original model";
  return side + (is_quantised_ ? "quantized" : "unquantized") + " model executed on the AI processor";
}

void warn_of_size(const std::string& path, Log& log) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (!error && size > kLargeFile)
    log.warn("The size (" + std::to_string(size) + ") of '" + path +
             "' exceeds 100MB, it may task more time to run, please wait.");
}

std::string op_type_of_file(std::string_view path) {
  std::string name(path.substr(path.rfind('/') + 1));
  std::ranges::replace(name, '*', '0');
  const std::vector<std::string_view> fields = split(name, '.');
  return is_npu_name(fields) ? std::string(fields[0]) : "NaN";
}

}  // namespace opdump::msaccucmp
