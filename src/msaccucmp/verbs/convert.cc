// `opdump msaccucmp convert`: which files, in what order, and what becomes of their failures (cann.md 4.10).
#include "msaccucmp/convert/dump_file.h"
#include "msaccucmp/log.h"
#include "msaccucmp/paths.h"
#include "msaccucmp/verbs/msaccucmp.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/text/text.h"
#include "base/worker_pool.h"
#include "format/tables/mapping_csv.h"
#include "msaccucmp/convert/conversion.h"
#include "terminal/progress.h"

namespace opdump::msaccucmp {
namespace fs = std::filesystem;
namespace {

// Files that are no dumps, but lie where dumps do.
bool is_other_file(const std::string& name) {
  constexpr std::string_view kSuffixes[] = {".npy", ".csv", ".json", ".txt", ".bin", ".pt"};
  if (name.starts_with('.') || (name.find('.') == std::string::npos && !is_digits(name))) return true;
  return std::ranges::any_of(kSuffixes, [&](std::string_view suffix) { return name.ends_with(suffix); });
}

Status convert_directory(const ConvertOptions& options, const fs::path& directory) {
  FileList files(directory);
  std::size_t total = 0;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    ++total;
    const std::string name = at->path().filename().string();
    const bool is_wanted =
        name != format::kMappingCsvName && (options.is_bug_compatible || !is_other_file(name));
    if (is_wanted && at->is_regular_file(error)) files.add(name);
  }
  if (error) return fail(Status::invalid_path, directory.string() + ": " + error.message());
  files.sort();
  if (!options.is_bug_compatible && files.size() == 0)
    return fail(Status::no_dump_file, "There is no dump file in " + in_quotes(directory.string()) + ".");
  return convert_files(options, files, total);
}

// What is said comes at the end where a bar may be drawn meanwhile.
Status convert_with_bar(ConvertOptions options, const fs::path& file) {
  std::error_code error;
  const std::uint64_t total = fs::file_size(file, error);
  Log log(!error && total > kBigFile ? LogMode::kept : LogMode::written);
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
  log.print();
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
  Log log(LogMode::written);
  if (text.find(',') == std::string::npos) {
    const fs::path path = real_path(text);
    return {text.empty() ? log.fail(Status::invalid_parameter, "The path is null.")
                         : check_path(path.string(), PathKind::any, log),
            {path}};
  }
  Inputs inputs;
  for (const std::string_view piece : split(text, ',')) {
    const std::string_view name = trim(piece);
    const fs::path path = real_path(name.empty() ? "." : std::string(name));  // which has no files of a list
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
  Log log(LogMode::written);
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
    FileList files;
    for (const fs::path& path : inputs.paths)
      if (fs::is_regular_file(path, error)) files.add(path.string());
    return convert_files(options, files, inputs.paths.size());
  }
  if (fs::is_directory(inputs.paths[0], error)) return convert_directory(options, inputs.paths[0]);
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
    if (!is_digits(text))
      return fail(Status::invalid_parameter,
                  "The tensor index '" + text + "' is invalid. It only supports 'natural number'.");
    // No file has as many tensors as what is too large here says.
    options.only = {name == "-i", static_cast<std::size_t>(parse_int64(text).value_or(INT64_MAX))};
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
  Log log(LogMode::written);
  const auto plugins = find_format_plugins(values.value("-c"), log);
  if (!plugins) return plugins.error();
  options.format->plugins = &*plugins;
  return convert_all(values, std::move(options));
}

}  // namespace opdump::msaccucmp
