// `opdump msaccucmp convert`: which files, in what order, and what becomes of their failures (cann.md 4.10).
#include "msaccucmp/convert.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <span>
#include <vector>

#include "base/file_copy.h"
#include "base/text.h"
#include "base/worker_pool.h"
#include "compare/shared_work.h"
#include "format/mapping_csv.h"
#include "terminal/progress.h"

namespace opdump::msaccucmp {
namespace fs = std::filesystem;
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFailedList = "convert_failed_file_list.txt";
constexpr std::uint64_t kBigFile = 32 << 20;  // larger ones are converted one by one, each by all threads

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Files that are no dumps, but lie where dumps do.
bool is_other_file(const std::string& name) {
  constexpr std::string_view kSuffixes[] = {".npy", ".csv", ".json", ".txt", ".bin", ".pt"};
  if (name.starts_with('.') || (name.find('.') == std::string::npos && !is_digits(name))) return true;
  return std::ranges::any_of(kSuffixes, [&](std::string_view suffix) { return name.ends_with(suffix); });
}

// The lines that tell how far it is: the first, then one a second, and the last.
class ProgressLines {
 public:
  explicit ProgressLines(std::size_t total) : total_(total) {}

  void count_one() {
    ++done_;
    const double percent =
        std::round(static_cast<double>(done_) * 10000.0 / static_cast<double>(total_)) / 100;
    const auto now = std::chrono::steady_clock::now();
    if (percent < 100 && now < next_) return;
    next_ = now + std::chrono::seconds(1);
    const auto filled = static_cast<std::size_t>(percent / 2);
    log_line(Severity::info, "[ " + std::string(filled, '>') + std::string(kWidth - filled, ' ') + " " +
                                 std::to_string(static_cast<int>(percent)) + "%]");
  }

 private:
  static constexpr std::size_t kWidth = 50;
  std::size_t total_, done_ = 0;
  std::chrono::steady_clock::time_point next_{};
};

class Conversion {
 public:
  Conversion(ConvertOptions options, std::vector<fs::path> files, std::size_t total)
      : options_(std::move(options)),
        files_(std::move(files)),
        progress_(total),
        results_(files_.size()),
        bytes_(files_.size()) {
    parallel_for(files_.size(), 0, [&](std::size_t i) {
      std::error_code error;
      const std::uint64_t bytes = fs::file_size(files_[i], error);
      if (!error) bytes_[i] = bytes;
    });
  }

  Status run() {
    std::vector<std::size_t> all(files_.size());
    std::iota(all.begin(), all.end(), 0);
    if (options_.group == nullptr) {
      convert(all);
    } else if (const Status status = share(all); status != Status::ok || !options_.group->is_leader()) {
      return status;
    }
    const Status status = note_failures();
    return status == Status::ok && !left_out_.empty() ? Status::invalid_path : status;
  }

 private:
  void convert(std::span<const std::size_t> indices) {
    const std::size_t here = options_.group == nullptr ? 1 : options_.group->size_here();
    const unsigned threads = std::max<unsigned>(1, worker_count(0) / static_cast<unsigned>(here));
    std::vector<std::size_t> small, big;
    for (const std::size_t i : indices) (bytes_[i] <= kBigFile ? small : big).push_back(i);
    parallel_for(small.size(), threads, [&](std::size_t i) { convert(small[i], 1); });
    for (const std::size_t i : big) convert(i, threads);
  }

  void convert(std::size_t i, unsigned threads) {
    ConvertOptions options = options_;
    if (options.format) options.format->threads = threads;
    Log log(true);
    results_[i] = convert_dump_file(files_[i], options, log);
    const std::string text = log.text();
    const std::lock_guard lock(mutex_);
    if (options_.group != nullptr) note_answer(i, log);
    std::fputs(text.c_str(), stderr);
    progress_.count_one();
  }

  // Converts a part of the files and learns from the others what became of theirs. The leader tells it, and
  // converts what a process that died has left.
  Status share(std::span<const std::size_t> all) {
    const group::Group& group = *options_.group;
    const compare::Share share{group.rank(), group.size(), 0,
                               [&](const std::string& mine) { return group.exchange(mine); }};
    const auto work = [&](std::span<const std::size_t> own) {
      convert(own);
      const auto bytes = Json::to_msgpack(answers_);
      return std::string(bytes.begin(), bytes.end());
    };
    auto shared = compare::share_work(share, compare::digest_of(description()), bytes_, work);
    if (!shared) return fail(Status::invalid_path, shared.error().message());
    if (!group.is_leader()) return Status::ok;
    left_out_ = std::move(shared->problems);
    std::vector<bool> is_done(files_.size());
    std::vector<std::size_t> left;
    for (const std::size_t i : all) is_done[i] = shared->owner[i] == 0;
    for (const std::size_t rank : shared->workers) {
      if (shared->answers[rank].empty() && std::ranges::count(shared->owner, rank) > 0)
        left_out_.push_back("process " + std::to_string(rank) + ": it died, and process 0 did its part");
      if (rank != 0) take_answers(shared->answers[rank], is_done);
    }
    for (const std::size_t i : all)
      if (!is_done[i]) left.push_back(i);
    convert(left);
    for (const std::string& process : left_out_) log_line(Severity::error, process);
    return Status::ok;
  }

  // Equal for processes that would convert the same.
  std::string description() const {
    std::string text;
    for (std::size_t i = 0; i < files_.size(); ++i)
      text += files_[i].filename().string() + " " + std::to_string(bytes_[i]) + "\n";
    return text;
  }

  void note_answer(std::size_t i, const Log& log) {
    Json lines = Json::array();
    for (const auto& [severity, text] : log.lines()) lines.push_back({static_cast<int>(severity), text});
    answers_.push_back({i, static_cast<int>(results_[i].status), results_[i].failure, std::move(lines)});
  }

  // Of a process that runs the same program.
  void take_answers(const std::string& bytes, std::vector<bool>& is_done) {
    const Json answers = Json::from_msgpack(bytes, true, false);
    if (!answers.is_array()) return;
    for (const Json& answer : answers) {
      const auto i = answer[0].get<std::size_t>();
      results_[i] = {static_cast<Status>(answer[1].get<int>()), answer[2].get<std::string>()};
      for (const Json& line : answer[3])
        log_line(static_cast<Severity>(line[0].get<int>()), line[1].get<std::string>());
      progress_.count_one();
      is_done[i] = true;
    }
  }

  Status note_failures() const {
    std::string text;
    for (const ConvertedFile& result : results_)
      if (result.status != Status::ok) text += result.failure + "\n";
    const Status status = commonest_failure();
    if (status == Status::ok) return status;
    const fs::path path = options_.output / kFailedList;
    if (auto written = append_file(path, text, 0600); !written)
      return fail(status, "Failed to write data to " + in_quotes(path.string()) + ". " +
                              python_os_error(written.error(), path) + " ");
    log_line(Severity::info, "The list of files that failed to be converted has been written to " +
                                 in_quotes(path.string()) + ".");
    return status;
  }

  // The original's is that of the first file in the directory's order, which is any. Of equally common ones
  // it is the first.
  Status commonest_failure() const {
    std::map<Status, std::size_t> counts;
    for (const ConvertedFile& result : results_)
      if (result.status != Status::ok) ++counts[result.status];
    const auto is_commoner = [&](const ConvertedFile& left, const ConvertedFile& right) {
      return counts[left.status] < counts[right.status];
    };
    const auto commonest = std::ranges::max_element(results_, is_commoner);
    return counts.empty() ? Status::ok : commonest->status;
  }

  ConvertOptions options_;
  std::vector<fs::path> files_;
  std::mutex mutex_;  // guards progress_ and the order of the log's lines
  ProgressLines progress_;
  std::vector<ConvertedFile> results_;
  std::vector<std::uint64_t> bytes_;   // of the files
  std::vector<std::string> left_out_;  // processes that did not do their part
  Json answers_ = Json::array();       // what this process tells the others: index, status, failure, log
};

Status convert_directory(ConvertOptions options, const fs::path& directory) {
  std::vector<fs::path> files;
  std::size_t total = 0;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    ++total;
    const std::string name = at->path().filename().string();
    const bool is_wanted =
        name != format::kMappingCsvName && (options.is_bug_compatible || !is_other_file(name));
    if (is_wanted && at->is_regular_file(error)) files.push_back(at->path());
  }
  if (error) return fail(Status::invalid_path, directory.string() + ": " + error.message());
  if (!options.is_bug_compatible && files.empty())
    return fail(Status::no_dump_file, "There is no dump file in " + in_quotes(directory.string()) + ".");
  std::ranges::sort(files);
  return Conversion(std::move(options), std::move(files), total).run();
}

// What is said comes at the end where a bar may be drawn meanwhile.
Status convert_with_bar(ConvertOptions options, const fs::path& file) {
  std::error_code error;
  const std::uint64_t total = fs::file_size(file, error);
  Log log(!error && total > kBigFile);
  Status status = Status::ok;
  {
    terminal::Progress progress("converting");
    std::mutex mutex;  // guards what follows
    std::uint64_t done = 0;
    options.on_written = [&](std::uint64_t bytes) {
      const std::lock_guard lock(mutex);
      progress.update(done += bytes, total);
    };
    if (total <= kBigFile) options.on_written = nullptr;
    status = convert_dump_file(file, options, log).status;
  }
  log.flush();
  return status;
}

Status convert_one(ConvertOptions options, const fs::path& file) {
  if (options.group != nullptr && !options.group->is_leader()) return Status::ok;
  const bool has_format = options.format.has_value();
  if (has_format) options.format->threads = worker_count(0);
  const Status status = convert_with_bar(std::move(options), file);
  if (status == Status::ok || status == kCrash) return status;
  if (has_format) return fail(status, "Failed to convert format for " + file.string() + "\".");
  return fail(status, "Failed to parse dump file \"" + file.string() + "\".");
}

// The files that -d names; one alone may be a directory.
struct Inputs {
  Status status = Status::ok;
  std::vector<fs::path> paths;
};
Inputs find_inputs(const std::string& text) {
  Log log;
  if (text.find(',') == std::string::npos) {
    const fs::path path = real_path(text);
    return {text.empty() ? log.fail(Status::invalid_parameter, "The path is null.")
                         : check_path(path.string(), PathKind::any, log),
            {path}};
  }
  Inputs inputs;
  for (const std::string_view piece : split(text, ',')) {
    const fs::path path = real_path(std::string(trim(piece)));
    if (check_path(path.string(), PathKind::any, log) == Status::ok) inputs.paths.push_back(path);
  }
  if (inputs.paths.empty())
    inputs.status = fail(Status::invalid_path,
                         "There is no valid file in " + in_quotes(text) + ". Please check the path.");
  return inputs;
}

Status convert_all(const ParsedArguments& values, ConvertOptions options) {
  const Inputs inputs = find_inputs(values.value("-d"));
  if (inputs.status != Status::ok) return inputs.status;
  Log log;
  const Status output = check_output(options.output.string(), log);
  const bool goes_on = options.is_bug_compatible && options.format;  // although nothing can be written
  if (output != Status::ok && !goes_on) return output;
  if (output != Status::ok)
    log.fail(output, "Check arguments Failed. Please recheck the arguments");
  else if (options.format)
    log.info("The target format is \"" + dump_format_name(static_cast<std::int32_t>(options.format->to)) +
             "\".");
  std::error_code error;
  if (inputs.paths.size() > 1) {
    std::vector<fs::path> files;
    for (const fs::path& path : inputs.paths)
      if (fs::is_regular_file(path, error)) files.push_back(path);
    return Conversion(std::move(options), std::move(files), inputs.paths.size()).run();
  }
  if (fs::is_directory(inputs.paths[0], error)) return convert_directory(std::move(options), inputs.paths[0]);
  return convert_one(std::move(options), inputs.paths[0]);
}

// Options that need -f.
Status check_effects(const ParsedArguments& values) {
  constexpr std::pair<std::string_view, std::string_view> kNeedFormat[] = {
      {"-o", "--output_tensor"}, {"-i", "--input_tensor"}, {"-s", "--shape"}, {"-c", "--custom_script_path"}};
  for (const auto& [name, long_name] : kNeedFormat)
    if (!values.has("-f") && values.has(name))
      return fail(Status::invalid_parameter, "The argument '\"" + std::string(name) + "\" or \"" +
                                                 std::string(long_name) +
                                                 "\"' takes effect only when the \"'-f'\" exists.");
  return Status::ok;
}

// -o, -i and -s, which only a single file heeds.
Status set_selection(const ParsedArguments& values, ConvertOptions& options) {
  for (const std::string_view name : {"-i", "-o"}) {
    const std::string text = values.value(name);
    if (text.empty()) continue;
    const auto index = parse_uint64(text);
    if (!index)
      return fail(Status::invalid_parameter,
                  "The tensor index '" + text + "' is invalid. It only supports 'natural number'.");
    options.only = {name == "-i", static_cast<std::size_t>(*index)};
  }
  const std::string text = values.value("-s");
  if (text.empty()) return Status::ok;
  std::vector<std::int64_t> dims;
  for (const std::string_view piece : split(text, ',')) {
    const auto dim = is_digits(piece) ? parse_int64(piece) : std::nullopt;
    if (!dim || text.find(',') == std::string::npos)
      return fail(Status::invalid_shape,
                  "The shape('" + text + "') is invalid. The supported formats are \"1,3,224,224\".");
    dims.push_back(*dim);
  }
  if (std::ranges::find(dims, 0) != dims.end())
    return fail(Status::invalid_shape,
                "The shape('" + text + "') is invalid. Each dimension must be greater than 0.");
  options.format->shape = model::Shape(std::span<const std::int64_t>(dims));
  return Status::ok;
}

std::optional<model::Format> find_format(const std::string& name, bool is_bug_compatible) {
  for (int number = 0; number < 256; ++number) {
    if (is_bug_compatible && (!is_original_format(number) || name != dump_format_name(number))) continue;
    const auto format = static_cast<model::Format>(number);
    if (name == dump_format_name(number) || (!name.empty() && name == model::format_name(format))) {
      const bool is_number = is_digits(name);
      if (!is_number) return format;
    }
  }
  return std::nullopt;
}

}  // namespace

Status run_convert(const ParsedArguments& values) {
  const auto group = group::Group::join();
  if (!group) return fail(Status::invalid_path, group.error().message());
  group->silence_others();
  if (const Status status = check_effects(values); status != Status::ok) return status;
  ConvertOptions options;
  options.is_bug_compatible = values.has("--bug-compatible");
  if (options.is_bug_compatible && values.number("-v") == 1)
    log_line(Severity::warning,
             "The -v argument will be deprecated. when the -v value is 1, it will be processed as 2.");
  if (group->size() > 1) options.group = &*group;
  options.output = real_path(values.value("-out").empty() ? "." : values.value("-out"));
  options.type =
      static_cast<FileType>(std::ranges::find(kConvertTypes, values.value("-t", "npy")) - kConvertTypes);
  const fs::path given = real_path(values.value("-d"));
  std::error_code error;
  const bool is_directory = fs::is_directory(given, error);
  if (is_directory && fs::is_empty(given, error))
    return fail(Status::invalid_parameter, "The dump path is empty.");
  if (values.value("-f").empty()) return convert_all(values, std::move(options));
  options.format.emplace();
  if (is_directory)
    log_line(Severity::warning,
             "The dump path is a directory. If the -o, -i and -s arguments exist, these arguments will be "
             "ignored.");
  if (fs::is_regular_file(given, error))
    if (const Status status = set_selection(values, options); status != Status::ok) return status;
  const auto format = find_format(values.value("-f"), options.is_bug_compatible);
  if (!format)
    return fail(Status::invalid_parameter,
                "The format \"" + values.value("-f") + "\" is not supported. Please check the format.");
  options.format->to = *format;
  options.format->may_be_fortran = options.type == FileType::npy || options.type == FileType::msnpy ||
                                   (options.type == FileType::torch && options.is_bug_compatible);
  if (values.value("-c").empty()) return convert_all(values, std::move(options));
  Log log;
  const FoundPlugins found = find_format_plugins(values.value("-c"), log);
  if (found.status != Status::ok) return found.status;
  options.format->plugins = &found.plugins;
  return convert_all(values, std::move(options));
}

}  // namespace opdump::msaccucmp
