// The command line of `opdump msaccucmp`: argparse's ways, which CLI11 does not have ("-out" is one option).
#include "cli/msaccucmp.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <map>
#include <vector>

#include "base/text.h"
#include "cli/output.h"
#include "cli/verb.h"

namespace opdump::cli {
namespace {

constexpr std::string_view kUsage =
    "usage: msaccucmp.py convert [-h] -d DUMP_PATH [-f FORMAT] [-s SHAPE]\n"
    "                            [-o OUTPUT | -i INPUT] [-out OUTPUT_PATH] [-v {1,2}]\n"
    "                            [-t {npy,bin,msnpy}]\n";

struct Option {
  std::string_view name, long_name;
};
constexpr Option kConvertOptions[] = {
    {"-d", "--dump_file"},    {"-f", "--format"},   {"-s", "--shape"},   {"-o", "--output_tensor"},
    {"-i", "--input_tensor"}, {"-out", "--output"}, {"-v", "--version"}, {"-t", "--type"}};

// The values by short name. Errors: usage -- as argparse words them.
using Values = std::map<std::string_view, std::string>;

const Option* find_option(std::string_view word) {
  for (const Option& option : kConvertOptions)
    if (word == option.name || word == option.long_name) return &option;
  return nullptr;
}

Result<Values> parse_values(std::span<const char* const> args) {
  Values values;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string_view word = args[i];
    const std::size_t equals = word.starts_with("--") ? word.find('=') : std::string_view::npos;
    const Option* option = find_option(word.substr(0, equals));
    if (option == nullptr) return Error(Code::usage, "unrecognized arguments: " + std::string(word));
    const bool has_value = equals != std::string_view::npos;
    if (!has_value && i + 1 == args.size())
      return Error(Code::usage, "argument " + std::string(option->name) + "/" +
                                    std::string(option->long_name) + ": expected one argument");
    values[option->name] = has_value ? std::string(word.substr(equals + 1)) : std::string(args[++i]);
  }
  if (!values.contains("-d"))
    return Error(Code::usage, "the following arguments are required: -d/--dump_file");
  if (values.contains("-o") && values.contains("-i"))
    return Error(Code::usage, "argument -i/--input_tensor: not allowed with argument -o/--output_tensor");
  return values;
}

Result<> check_path(std::string_view option, std::string_view value) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_/.,-").find(c) != std::string_view::npos;
  };
  for (const char c : value)
    if (!is_plain(c))
      return Error(Code::usage, "argument " + std::string(option) + ": invalid safe_path_string value: '" +
                                    std::string(value) + "'");
  return ok();
}

Result<FileType> parse_type(const std::string& text) {
  constexpr std::string_view kTypes[] = {"npy", "bin", "msnpy"};
  for (std::size_t i = 0; i < std::size(kTypes); ++i)
    if (text == kTypes[i]) return static_cast<FileType>(i);
  return Error(Code::usage,
               "argument -t/--type: invalid choice: '" + text + "' (choose from 'npy', 'bin', 'msnpy')");
}

// Values that argparse itself refuses.
Result<> check_values(const Values& values, ConvertOptions& options) {
  OPDUMP_CHECK_OK(check_path("-d/--dump_file", values.at("-d")));
  options.dump_path = values.at("-d");
  if (const auto out = values.find("-out"); out != values.end()) {
    OPDUMP_CHECK_OK(check_path("-out/--output", out->second));
    options.output = out->second;
  }
  if (const auto type = values.find("-t"); type != values.end()) {
    OPDUMP_TRY(options.type, parse_type(type->second));
  }
  if (const auto version = values.find("-v"); version != values.end())
    if (version->second != "1" && version->second != "2")
      return Error(Code::usage,
                   "argument -v/--version: invalid choice: " + version->second + " (choose from 1, 2)");
  for (const std::string_view name : {"-o", "-i"})
    if (const auto index = values.find(name); index != values.end()) {
      const auto number = parse_int64(index->second);
      if (!number || *number < 0)
        return Error(Code::usage,
                     "argument " + std::string(name) + ": invalid int value: '" + index->second + "'");
      options.only = {name == "-i", static_cast<std::size_t>(*number)};
    }
  return ok();
}

Status fail(Status status, const std::string& message) {
  log_line(Severity::error, message);
  return status;
}

// Values that are refused once the program runs.
Status set_format(const Values& values, ConvertOptions& options) {
  const auto format = values.find("-f"), shape = values.find("-s");
  if (format == values.end()) {
    if (!options.only) return Status::ok;
    const bool input = options.only->is_input;
    return fail(Status::invalid_parameter, std::string("The argument '\"") + (input ? "-i" : "-o") +
                                               "\" or \"" + (input ? "--input_tensor" : "--output_tensor") +
                                               "\"' takes effect only when the \"'-f'\" exists.");
  }
  options.format = model::find_format(format->second);
  if (!options.format)
    return fail(Status::invalid_parameter,
                "The format \"" + format->second + "\" is not supported. Please check the format.");
  if (shape == values.end()) return Status::ok;
  std::vector<std::int64_t> dims;
  for (const std::string_view piece : split(shape->second, ',')) {
    const auto dim = parse_int64(piece);
    if (!dim || *dim < 0)
      return fail(Status::invalid_shape, "The shape('" + shape->second +
                                             "') is invalid. The supported formats are \"1,3,224,224\".");
    dims.push_back(*dim);
  }
  options.shape = model::Shape(std::span<const std::int64_t>(dims));
  return Status::ok;
}

Status run_convert(const Values& values, ConvertOptions options) {
  const auto begin = std::chrono::steady_clock::now();
  Status status = set_format(values, options);
  if (status == Status::ok) status = convert_dumps(std::move(options));
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
  log_line(Severity::info,
           "The command was completed and took " + std::to_string(seconds.count()) + " seconds.");
  return status;
}

Error with_usage(const Error& error) {
  return Error(Code::usage, std::string(kUsage) + "msaccucmp.py convert: error: " + error.message());
}

}  // namespace

void log_line(Severity severity, std::string_view text) {
  constexpr std::string_view kNames[] = {"INFO", "WARNING", "ERROR"};
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 32> time{};
  std::strftime(time.data(), time.size(), "%Y-%m-%d %H:%M:%S", &local);
  std::string line(time.data());
  line.append(" (").append(std::to_string(::getpid())).append(") - [");
  line.append(kNames[static_cast<std::size_t>(severity)]).append("] ").append(text).append("\n");
  std::fputs(line.c_str(), stderr);
}

Result<int> run_msaccucmp(std::span<const char* const> args) {
  if (args.empty() || std::string_view(args[0]) != "convert")
    return Error(Code::usage, "msaccucmp: expected convert, the one verb of the original that is here");
  const auto rest = args.subspan(1);
  if (!rest.empty() && (std::string_view(rest[0]) == "-h" || std::string_view(rest[0]) == "--help")) {
    print(kUsage);
    return 0;
  }
  auto values = parse_values(rest);
  if (!values) return with_usage(values.error());
  ConvertOptions options;
  if (auto checked = check_values(*values, options); !checked) return with_usage(checked.error());
  return static_cast<int>(run_convert(*values, std::move(options)));
}

}  // namespace opdump::cli
