// `opdump msaccucmp overflow`: which operators overflowed first, and what they read and wrote (cann.md 4.11).
#include <re2/re2.h>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <vector>

#include "arrays/numpy_text.h"
#include "base/file/file.h"
#include "base/file/file_replacement.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "dump/file_name.h"
#include "dump/read/dump_set.h"
#include "format/tables/mapping_csv.h"
#include "msaccucmp/convert/dump_file.h"
#include "msaccucmp/log.h"
#include "msaccucmp/paths.h"
#include "msaccucmp/verbs/msaccucmp.h"

namespace opdump::msaccucmp {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDeepest = 30;                       // directories below the one that is given
constexpr std::uint64_t kNoId = 65535;             // "no context", "no thread"
constexpr std::uint64_t kLargestText = 100 << 20;  // JSON, mapping.csv
constexpr std::string_view kUnits[] = {"AIC", "AIV", "AICPU", "SDMA"};

// A dump file by its name.
struct NamedFile {
  fs::path path;
  std::string type, name, timestamp;
  std::uint64_t task = 0, stream = 0;
  std::optional<std::uint64_t> context, thread;
};

// Numbers of any length in their order.
bool is_before(const NamedFile& a, const NamedFile& b) {
  return std::tuple(a.timestamp.size(), a.timestamp, a.path) <
         std::tuple(b.timestamp.size(), b.timestamp, b.path);
}

// Nothing if `text`, the name of the file or the one that mapping.csv knows, is not that of a dump file.
std::optional<NamedFile> parse_name(const fs::path& path, const std::string& text) {
  static const RE2 pattern(
      "([A-Za-z0-9_-]+)\\.([A-Za-z0-9_-]+)\\.([0-9]+)(?:\\.([0-9]+))?\\.0*([0-9]{1,255})"
      "(?:\\.[0-9]+\\.([0-9]+)\\.([0-9]+))?(?:\\.[0-9]+)?");
  NamedFile file;
  std::string task, stream, context, thread;
  if (!RE2::FullMatch(text, pattern, &file.type, &file.name, &task, &stream, &file.timestamp, &context,
                      &thread))
    return std::nullopt;
  file.path = path;
  file.task = parse_uint64(task).value_or(UINT64_MAX);
  file.stream = stream.empty() ? 0 : parse_uint64(stream).value_or(UINT64_MAX);
  file.context = parse_uint64(context);
  file.thread = parse_uint64(thread);
  return file;
}

// Says which files a mapping.csv names that are not there.
void check_mapping(const format::MappingCsv& mapping, const fs::path& directory, Log& log) {
  std::error_code error;
  for (const auto& [name, original] : mapping.originals)
    if (!fs::is_regular_file(directory / name, error))
      log.warn("the file '" + name + "' in mapping.csv is not exist, dir: '" + directory.string() + "'.");
}

// Calls look(file) for each dump file below `directory`, in any order: there can be a million. Names that are
// numbers are those of its mapping.csv.
template <typename Look>
void visit_files(const fs::path& directory, Log& log, const Look& look) {
  bool is_too_deep = false;
  const auto mapping_text = read_file(directory / format::kMappingCsvName, kLargestText);
  // The last line may lack its end, and all may have two.
  std::string lines = mapping_text ? *mapping_text + "\n" : "";
  std::erase(lines, '\r');
  const format::MappingCsv mapping = format::decode_mapping_csv(lines);
  std::error_code error;
  for (fs::recursive_directory_iterator at(directory, fs::directory_options::skip_permission_denied, error),
       end;
       !error && at != end; at.increment(error)) {
    if (at.depth() >= kDeepest && at->is_directory(error)) {
      is_too_deep = true;
      at.disable_recursion_pending();
    }
    if (!at->is_regular_file(error)) continue;
    const std::string name = at->path().filename().string();
    const auto original = mapping.originals.find(name);
    const bool is_mapped = original != mapping.originals.end() && at.depth() == 0;
    if (const auto file = parse_name(at->path(), is_mapped ? original->second : name)) look(*file);
  }
  if (is_too_deep)
    log.warn("The current file depth has exceeded the maximum depth limit, which is set to " +
             std::to_string(kDeepest) + ".");
  check_mapping(mapping, directory, log);
}

bool is_record(const NamedFile& file) {
  return file.type == dump::kOpDebugType && file.name == dump::kOpDebugName;
}

// What overflowed, by a record.
struct Culprit {
  std::uint64_t task = 0, stream = 0, context = kNoId, thread = kNoId;
};

bool is_of(const NamedFile& file, const Culprit& culprit) {
  const auto fits = [](std::uint64_t wanted, std::optional<std::uint64_t> have) {
    return wanted == 0 || wanted == kNoId || have == wanted;
  };
  return file.type != dump::kOpDebugType && file.task == culprit.task && file.stream == culprit.stream &&
         fits(culprit.context, file.context) && fits(culprit.thread, file.thread);
}

class OverflowSummary {
 public:
  OverflowSummary(const fs::path& dumps, const fs::path& output) : dumps_(dumps) { options_.output = output; }

  Status write(std::size_t most) {
    std::size_t count = 0;
    const std::vector<NamedFile> records = first_records(most, count);
    if (records.empty()) {
      log_.warn("[Overflow] Find [0] overflow node!");
      return Status::ok;
    }
    log_.info("[Overflow] Find [" + std::to_string(count) + "] overflow ops. Will show the top " +
              std::to_string(records.size()) + ".");
    std::string text;
    for (std::size_t i = 0; i < records.size(); ++i) {
      lines_.clear();
      const std::string bar(49, '=');
      lines_.push_back(bar + "[" + std::to_string(i + 1) + "]" + bar + "=");
      if (const Status status = describe(records[i]); status != Status::ok) return status;
      for (const std::string& line : lines_) text += line + "\n";
    }
    log_.info("[Overflow] The overflow analyse result:\n " + text);
    return save(text);
  }

 private:
  // The first `most` of `count` records, by time.
  std::vector<NamedFile> first_records(std::size_t most, std::size_t& count) {
    std::vector<NamedFile> first;
    visit_files(dumps_, log_, [&](const NamedFile& file) {
      if (!is_record(file)) return;
      ++count;
      first.insert(std::ranges::upper_bound(first, file, is_before), file);
      if (first.size() > most) first.pop_back();
    });
    return first;
  }

  // The first file of what overflowed.
  std::optional<NamedFile> find_file(const fs::path& directory, const Culprit& culprit) {
    std::optional<NamedFile> found;
    visit_files(directory, log_, [&](const NamedFile& file) {
      if (is_of(file, culprit) && (!found || is_before(file, *found))) found = file;
    });
    return found;
  }

  Status describe(const NamedFile& record) {
    const std::string name = record.path.filename().string();
    if (convert(record.path) == kCrash) return kCrash;
    const fs::path path = options_.output / (name + std::string(dump::kOpDebugJsonEnd));
    if (std::error_code error; !fs::exists(path, error)) {
      log_.warn("[Overflow] Parsed overflow debug file: " + name + " failed.");
      return Status::parse_dump;
    }
    // A record is one output. If there are more, which one counts is unknown.
    if (std::error_code error; fs::exists(options_.output / (name + ".output.1.json"), error))
      return Status::several_files;
    const auto text = read_file(path, kLargestText);
    const Json json = text ? Json::parse(*text, nullptr, false) : Json();
    if (!json.is_object())
      return log_.fail(Status::invalid_json, "Failed to load json object. The content of the json file " +
                                                 in_quotes(path.string()) + " is invalid.");
    Culprit culprit;
    const Status status = json.contains("magic") ? read_newer(json, culprit) : read_older(json, culprit);
    if (status != Status::ok) return status;
    lines_.push_back(" [timestamp:" + record.timestamp + "]");
    const auto found = find_file(record.path.parent_path(), culprit);
    if (found) return describe_operator(*found);
    log_.warn("[Overflow] Can't find the dump file corresponding to the debug file: " + name);
    return Status::ok;
  }

  Status convert(const fs::path& path) {
    const Status status = convert_dump_file(path, options_, log_).status;
    if (status != Status::ok && status != kCrash)
      log_.fail(status, "Failed to parse dump file \"" + path.string() + "\".");
    return status;
  }

  // "[unit][TaskId:3]..." of one unit; its numbers go to `culprit`.
  void add_unit(std::string_view unit, const Json& detail, Culprit& culprit) {
    const auto number = [&](const char* key, std::uint64_t otherwise) {
      const auto found = detail.find(key);
      return found != detail.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : otherwise;
    };
    culprit = {number("task_id", 0), number("stream_id", 0), number("context_id", kNoId),
               number("thread_id", kNoId)};
    std::string status = json_text(detail["status"]);
    if (detail["status"].is_array()) status = python_list(detail["status"]);
    lines_.push_back(" [" + std::string(unit) + "][TaskId:" + std::to_string(culprit.task) +
                     "][StreamId:" + std::to_string(culprit.stream) + "][Status:" + status + "]");
  }

  static std::string python_list(const Json& numbers) {
    std::string text = "[";
    for (const Json& number : numbers) text += (text.size() > 1 ? ", " : "") + json_text(number);
    return text + "]";
  }

  static bool is_set(const Json& detail) {
    const auto status = detail.find("status");
    return status != detail.end() && (status->is_array() ? !status->empty() : *status != 0);
  }

  Status read_newer(const Json& json, Culprit& culprit) {
    const Json list = json.value("acc_list", Json::object());
    const std::string unit = list.value("acc_type", "");
    if (std::ranges::find(kUnits, unit) == std::end(kUnits))
      return log_.fail(Status::overflow_type, "[Overflow] Invalid overflow type, type is " + unit);
    const Json detail = list.value("data", Json::object());
    if (!is_set(detail))
      return log_.fail(Status::overflow_status,
                       "[Overflow] The OpDebug file exists, but the value of status is 0!");
    add_unit(unit, detail, culprit);
    return Status::ok;
  }

  // Each unit whose status is set has a line; the last one names the operator.
  Status read_older(const Json& json, Culprit& culprit) {
    bool is_any_set = false;
    for (const auto& [unit, detail] : json.items())
      if (detail.is_object() && is_set(detail)) {
        add_unit(unit, detail, culprit);
        is_any_set = true;
      }
    if (is_any_set) return Status::ok;
    return log_.fail(Status::overflow_type,
                     "[Overflow] Invalid json_txt, overflow type invalid or status is zero!");
  }

  Status describe_operator(const NamedFile& file) {
    if (convert(file.path) == kCrash) return kCrash;
    const auto dump = read_dump(file.path, false, log_);  // logs once more what is wrong
    if (!dump) return dump.error();
    if (dump->data.inputs.empty() && dump->data.outputs.empty()) {
      log_.warn("[Overflow] Parsed overflow dump file: " + file.path.filename().string() + " failed.");
      return Status::unknown;
    }
    lines_.insert(lines_.begin() + 1, "[" + file.type + "] " + dump->data.op_name);
    for (const auto& [tensors, side] :
         {std::pair(&dump->data.inputs, "input"), std::pair(&dump->data.outputs, "output")})
      for (std::size_t i = 0; i < tensors->size(); ++i)
        if (const Status one = describe_tensor(file, (*tensors)[i], side, i); one != Status::ok) return one;
    return Status::ok;
  }

  Status describe_tensor(const NamedFile& file, const format::DumpTensor& tensor, const std::string& side,
                         std::size_t index) {
    const std::string name =
        file.path.filename().string() + "." + side + "." + std::to_string(index) + ".npy";
    Log quiet;
    const fs::path path = options_.output / fitting_name(options_.output, name, ".npy", quiet);
    const auto stored = dump::StoredTensor::read(path);
    if (!stored) return log_.crash(stored.error().message());
    if (stored->view().element_count() == 0) return Status::invalid_dump;
    lines_.push_back(" " + name);
    lines_.push_back(" -[Format: " + dump_format_name(tensor.format) + "] " +
                     arrays::numpy_summary(stored->view()));
    return Status::ok;
  }

  Status save(const std::string& text) {
    const fs::path path = options_.output / ("overflow_summary_" + time_stamp() + ".txt");
    if (auto written = write_file_atomic(path, text, 0600); !written)
      return log_.fail(Status::write_file, "Failed to open " + in_quotes(path.string()) + ". " +
                                               python_os_error(written.error(), path) + " ");
    return Status::ok;
  }

  fs::path dumps_;
  ConvertOptions options_;
  Log log_{LogMode::written};
  std::vector<std::string> lines_;  // of the record that is described
};

}  // namespace

Status run_overflow(const ParsedArguments& values) {
  Log log(LogMode::written);
  const fs::path dumps = real_path(values.value("-d")), output = real_path(values.value("-out"));
  if (const Status status = check_path(values.value("-d"), PathKind::directory, log); status != Status::ok)
    return log.fail(status, "[Overflow] the -d parameter: " + in_quotes(values.value("-d")) + " is invalid!");
  if (const Status status = check_output(values.value("-out"), log); status != Status::ok)
    return log.fail(status,
                    "[Overflow] the -out parameter: " + in_quotes(values.value("-out")) + " is invalid!");
  return OverflowSummary(dumps, output).write(static_cast<std::size_t>(values.number("-n").value_or(1)));
}

}  // namespace opdump::msaccucmp
