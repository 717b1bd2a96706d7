#include "compare/dump_folder.h"

#include <re2/re2.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <functional>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/concat.h"
#include "base/file.h"
#include "base/resident.h"
#include "base/text.h"
#include "format/fusion_json.h"
#include "format/mapping_csv.h"

namespace opdump::compare {
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

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

using Fields = std::span<const std::string_view>;  // of a name, between its points

// The operator that slices of it are named after.
std::string unsliced(std::string name, bool has_rules) {
  if (has_rules && name.find(kSlice) != std::string::npos) return format::without_slices(name);
  static const RE2 last_slice(R"(_lxslice[0-9]+$)"), graph(R"(^.*sgt_graph_[0-9]+.)");
  if (name.find(kSlice) != std::string::npos) RE2::Replace(&name, last_slice, "");
  if (name.find(kSliceGraph) != std::string::npos) RE2::Replace(&name, graph, "");
  return name;
}

struct FileKind {
  std::string key;
  DumpKind kind = DumpKind::npu;
  bool is_npy = false;
};

// {type}.{operator}.{task}(.{stream}).{time}, and whatever follows.
bool is_npu_name(Fields fields) {
  return fields.size() >= 4 && is_word(fields[0]) && is_word(fields[1]) && is_number(fields[2]) &&
         is_number(fields[3].substr(0, 1));
}

// {operator}.{output}.{time}.{suffix}; the operator of a .npy file may have points.
bool is_output_name(Fields fields, bool is_npy) {
  const std::size_t count = fields.size();
  if (count < 4 || (count > 4 && !is_npy)) return false;
  const Fields op = fields.first(count - 3);
  const bool is_op = count == 4 ? is_word(op[0]) : std::ranges::all_of(op, [](std::string_view field) {
    return field.empty() || is_word(field);
  });
  return is_op && is_number(fields[count - 3]) && is_number(fields[count - 2]) &&
         fields[count - 2].size() <= kMostDigits;
}

std::optional<FileKind> recognise(const std::string& name, Fields fields) {
  FileKind found;
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
  return time.size() == kTimeDigits && is_number(time) ? parse_uint64(time).value_or(0) : 0;
}

// The thread, or the number of the slice.
std::uint64_t slice_in(Fields fields, TaskMode mode) {
  if (mode == TaskMode::automatic) return parse_uint64(fields[fields.size() - 2]).value_or(0);
  const std::string_view op = fields.size() > 1 ? fields[1] : std::string_view();
  const std::size_t at = op.rfind(kSlice);
  if (mode == TaskMode::normal || at == std::string_view::npos) return 0;
  return parse_uint64(op.substr(at + kSlice.size())).value_or(0);
}

// Lines of a mapping file: a name, and what it stands for. The file is not copied; it may have a line for
// each of a million files.
class OriginalNames {
 public:
  OriginalNames() = default;
  // Calls tell_damaged(line) for lines that are not such.
  template <typename Tell>
  OriginalNames(MappedFile file, const Tell& tell_damaged) : file_(std::move(file)) {
    for (std::size_t at = 0; at < text().size(); at += whole_line(at).size() + 1) {
      const std::string_view line = line_at(at);
      if (std::ranges::count(line, ',') == 1)
        lines_.push_back(at);
      else
        tell_damaged(line);
    }
    note_walk(text().size());
    std::ranges::stable_sort(lines_, {}, [&](std::size_t at) { return name_at(at); });
    note_jumps();
  }

  // That of the last line with that name.
  std::optional<std::string_view> find(std::string_view name) const {
    constexpr std::size_t kBetweenNotes = 16;
    if (++finds_ % kBetweenNotes == 0) note_jumps();
    const auto after =
        std::ranges::upper_bound(lines_, name, {}, [&](std::size_t at) { return name_at(at); });
    if (after == lines_.begin() || name_at(*(after - 1)) != name) return std::nullopt;
    return line_at(*(after - 1)).substr(name.size() + 1);
  }

 private:
  std::string_view text() const {
    if (!file_) return {};
    return {reinterpret_cast<const char*>(file_->bytes().data()), file_->bytes().size()};
  }
  std::string_view whole_line(std::size_t at) const {
    const std::string_view rest = text().substr(at);
    return rest.substr(0, rest.find('\n'));
  }
  std::string_view line_at(std::size_t at) const {
    std::string_view line = whole_line(at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }
  std::string_view name_at(std::size_t at) const {
    const std::string_view line = whole_line(at);
    return line.substr(0, line.find(','));
  }

  std::optional<MappedFile> file_;
  std::vector<std::size_t> lines_;  // where they begin, by name
  mutable std::size_t finds_ = 0;
};

}  // namespace

class DumpFolder::Scanner {
 public:
  Scanner(DumpFolder& folder, bool in_slices, bool has_rules, Journal& journal)
      : folder_(folder), in_slices_(in_slices), has_rules_(has_rules), journal_(journal) {}

  Outcome<std::monostate> scan() {
    OPDUMP_TRY(const std::vector<std::uint32_t> names, list());
    read_mapping();
    folder_.files_.reserve(names.size());
    folder_.operators_.reserve(names.size());
    folder_.slots_.resize(std::bit_ceil(names.size() + names.size() / 2 + 1));
    for (const std::uint32_t name : names) {
      OPDUMP_TRY([[maybe_unused]] const std::monostate added, add(name));
    }
    if (!has_kind_)
      return journal_.fail(Status::dump_file, "No valid dump files in the path \"'" + folder_.path_ + "'\".");
    if (folder_.kind_ == DumpKind::original && only_npy_ && folder_.is_quantised_)
      folder_.kind_ = DumpKind::quantised;
    finish();
    return std::monostate{};
  }

 private:
  // The names of the files in the folder, sorted; each is the place of a text.
  Outcome<std::vector<std::uint32_t>> list() {
    std::error_code error;
    std::vector<std::uint32_t> names;
    for (fs::directory_iterator it(folder_.path_, error), end; !error && it != end; it.increment(error)) {
      const std::string& path = it->path().native();
      const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
      folder_.holds_npy_ = folder_.holds_npy_ || name.ends_with(".npy");
      if (!it->is_regular_file(error) || name == format::kMappingCsvName || name == kFailedList) continue;
      OPDUMP_TRY(const std::uint32_t place, keep_text(name));
      names.push_back(place);
    }
    if (error) return journal_.fail(Status::open_file, "Failed to read \"'" + folder_.path_ + "'\".");
    std::ranges::sort(names, {}, [&](std::uint32_t name) { return folder_.texts_.at(name); });
    return names;
  }

  Outcome<std::uint32_t> keep_text(std::string_view text) {
    if (const auto place = folder_.texts_.add(text)) return *place;
    return journal_.fail(Status::open_file,
                         "The names of the files in \"'" + folder_.path_ + "'\" take more than 4 GiB.");
  }

  void read_mapping() {
    std::error_code error;
    has_mapping_ = fs::exists(mapping_path(), error);
    if (!has_mapping_) return;
    warn_of_size(mapping_path(), journal_);
    auto file = MappedFile::open(mapping_path());
    if (!file || file->bytes().size() > kMaxMapping) return;
    originals_ = OriginalNames(std::move(*file), [&](std::string_view line) {
      const std::vector<std::string_view> cells = split(line, ',');
      tell_damaged(line.empty() ? std::vector<std::string>()
                                : std::vector<std::string>(cells.begin(), cells.end()));
    });
  }

  void tell_damaged(const std::vector<std::string>& cells) {
    journal_.error("The content (" + list_of(cells) + ") of the mapping file \"'" + mapping_path() +
                   "'\" is invalid.");
  }

  // What the file was called before its name was too long, or nothing if that is not known.
  std::optional<std::string> full_name(const std::string& name) {
    const bool is_hash =
        is_number(name) || (name.ends_with(".npy") && is_number(name.substr(0, name.size() - 4)));
    if (!is_hash) return name;
    const std::string mapping = mapping_path();
    if (!has_mapping_) {
      journal_.warn("The file name \"" + name + "\" corresponding mapping file \"" + mapping +
                    "\" is not exist.");
      return std::nullopt;
    }
    if (const auto original = originals_.find(name)) return std::string(*original);
    journal_.warn("The file name \"" + name + "\" in the file \"" + mapping + "\" is not exist.");
    return std::nullopt;
  }

  void tell_invalid(const std::string& name, bool is_mapped) {
    const std::string begin = "The file name \"" + name + "\" in the ";
    const std::string expected(expected_name(name));
    if (is_mapped)
      journal_.warn(begin + "file \"" + mapping_path() + "\" is invalid. It only supports " + expected);
    else
      journal_.warn(begin + "path \"" + folder_.path_ + "\"is invalid, only supports " + expected);
  }

  std::string mapping_path() const { return folder_.path_ + "/" + std::string(format::kMappingCsvName); }

  Outcome<std::monostate> add(std::uint32_t place) {
    const std::string file(folder_.texts_.at(place));
    const auto name = full_name(file);
    if (!name) return std::monostate{};
    const std::vector<std::string_view> fields = split(*name, '.');
    auto found = recognise(*name, fields);
    if (!found) {
      tell_invalid(*name, *name != file);
      return std::monostate{};
    }
    if (!in_slices_) {
      found->key = unsliced(std::move(found->key), has_rules_);
      if (found->key.find(kSlice) != std::string::npos) return std::monostate{};
    }
    OPDUMP_TRY(const TaskMode mode, mode_of(*name, fields));
    if (tells_quantisation(*found)) folder_.is_quantised_ = true;
    if (has_kind_ &&
        (folder_.kind_ != found->kind || (found->kind == DumpKind::original && only_npy_ != found->is_npy)))
      return journal_.fail(Status::dump_file, "Not all files in the path \"'" + folder_.path_ +
                                                  "'\" are of the same type, such as \"" + *name + "\".");
    has_kind_ = true;
    folder_.kind_ = found->kind;
    only_npy_ = found->is_npy;
    OPDUMP_TRY(const std::uint32_t op, operator_of(found->key, place));
    folder_.operators_[op].mode = mode;
    folder_.files_.push_back({place, op, time_in(fields, mode), slice_in(fields, mode)});
    return std::monostate{};
  }

  static bool tells_quantisation(const FileKind& found) {
    if (found.kind != DumpKind::npu && (found.kind == DumpKind::quantised || !found.is_npy)) return false;
    return std::ranges::any_of(
        kQuantisedNames, [&](std::string_view word) { return found.key.find(word) != std::string::npos; });
  }

  Outcome<TaskMode> mode_of(const std::string& name, Fields fields) {
    if (fields.back() == "npy" || fields.size() <= kShortNameFields) return TaskMode::normal;
    const std::string_view type = fields[fields.size() - 4];
    if (type.size() != 1 || type[0] < '0' || type[0] > '4') return Failure{Status::task_type, ""};
    if (type[0] != '4') return TaskMode::normal;
    return name.find(kSlice) != std::string::npos ? TaskMode::manual : TaskMode::automatic;
  }

  // The number of the operator with that key; a new one if there is none. The key is most often a part of the
  // file's name, which lies at `place`.
  Outcome<std::uint32_t> operator_of(const std::string& key, std::uint32_t place) {
    const std::size_t slot = folder_.slot_of(key);
    if (folder_.slots_[slot] != 0) return folder_.slots_[slot] - 1;
    std::string_view kept = folder_.texts_.at(place);
    const std::size_t at = kept.find(key);
    if (at == std::string_view::npos) {
      OPDUMP_TRY(place, keep_text(key));
      kept = folder_.texts_.at(place);
    } else {
      kept = kept.substr(at, key.size());
    }
    const std::uint32_t number = folder_.size();
    const std::uint32_t begin = folder_.texts_.place_of_part(place, kept);
    folder_.operators_.push_back({begin, static_cast<std::uint32_t>(key.size()), 0, TaskMode::normal});
    folder_.slots_[slot] = number + 1;
    return number;
  }

  void finish() {
    std::vector<File>& files = folder_.files_;
    const auto order = [](const File& file) { return std::tuple(file.op, file.slice, file.time_us); };
    if (!std::ranges::is_sorted(files, {}, order)) std::ranges::stable_sort(files, {}, order);
    for (std::size_t i = files.size(); i-- > 0;)
      folder_.operators_[files[i].op].first_file = static_cast<std::uint32_t>(i);
  }

  DumpFolder& folder_;
  bool in_slices_, has_rules_;
  Journal& journal_;
  bool has_kind_ = false, only_npy_ = false, has_mapping_ = false;
  OriginalNames originals_;
};

Outcome<DumpFolder> DumpFolder::scan(const std::string& path, bool in_slices, bool has_rules,
                                     Journal& journal) {
  DumpFolder folder;
  folder.path_ = path;
  OPDUMP_TRY([[maybe_unused]] const std::monostate done,
             Scanner(folder, in_slices, has_rules, journal).scan());
  return folder;
}

OperatorFiles DumpFolder::files_of(std::uint32_t number) const {
  OperatorFiles files{std::string(key_of(number)), {}, operators_[number].mode, time_of(number)};
  for (const File& file : files_at(number)) files.paths.push_back(concat({path_, "/", texts_.at(file.name)}));
  return files;
}

std::string_view DumpFolder::key_of(std::uint32_t number) const { return key_of(operators_[number]); }

std::uint64_t DumpFolder::time_of(std::uint32_t number) const { return files_at(number).back().time_us; }

std::span<const DumpFolder::File> DumpFolder::files_at(std::uint32_t number) const {
  const std::size_t first = operators_[number].first_file;
  const std::size_t end = number + 1 < size() ? operators_[number + 1].first_file : files_.size();
  return std::span(files_).subspan(first, end - first);
}

std::size_t DumpFolder::slot_of(std::string_view key) const {
  std::size_t slot = std::hash<std::string_view>()(key) % slots_.size();
  while (slots_[slot] != 0 && key_of(operators_[slots_[slot] - 1]) != key) slot = (slot + 1) % slots_.size();
  return slot;
}

std::optional<std::uint32_t> DumpFolder::find_key(std::string_view key) const {
  if (slots_.empty()) return std::nullopt;
  const std::uint32_t found = slots_[slot_of(key)];
  return found == 0 ? std::nullopt : std::optional(found - 1);
}

std::optional<OperatorFiles> DumpFolder::find(std::string_view op, std::optional<std::int64_t> output) const {
  std::string key(op);
  for (char& c : key)
    if (c == '/' || c == '.') c = '_';
  if (output) key += "." + std::to_string(*output);
  const auto found = find_key(key);
  return found ? std::optional(files_of(*found)) : std::nullopt;
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

void warn_of_size(const std::string& path, Journal& journal) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  if (!error && size > kLargeFile)
    journal.warn("The size (" + std::to_string(size) + ") of '" + path +
                 "' exceeds 100MB, it may task more time to run, please wait.");
}

std::string op_type_of_file(std::string_view path) {
  std::string name(path.substr(path.rfind('/') + 1));
  std::ranges::replace(name, '*', '0');
  const std::vector<std::string_view> fields = split(name, '.');
  return is_npu_name(fields) ? std::string(fields[0]) : "NaN";
}

}  // namespace opdump::compare
