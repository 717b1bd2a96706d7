#include "msaccucmp/plugins/python_plugin.h"

#include <sys/stat.h>

#include <re2/re2.h>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "arrays/file.h"
#include "base/text/json.h"
#include "dump/read/dump_set.h"
#include "msaccucmp/log.h"
#include "msaccucmp/paths.h"
#include "msaccucmp/plugins/python_process.h"
#include "msaccucmp/read/dump.h"

namespace opdump::msaccucmp {
namespace fs = std::filesystem;
namespace {

constexpr const char* kConversionFolder = "format_convert";
constexpr std::uint64_t kLargestFile = 1 << 20;  // the original's limit for a script, in bytes
constexpr std::uint64_t kLargestReason = 1 << 16;
constexpr int kNoFunction = 3, kNoArray = 5;  // what the script answers

// argv: directory. A request is a list: module, file for the reason, and to call it: shape, shape, groups,
// file to read, file to write. The answer is 0 or what went wrong.
constexpr const char* kConversionScript = R"(
import importlib, json, os, sys
sys.path.append(sys.argv[1])
class Stop(Exception):
    pass
def load(name):
    try:
        module = importlib.import_module("format_convert." + name)
    except Exception as error:
        raise Stop(4, error)
    place = str(module.__file__)
    if not hasattr(module, "convert"):
        raise Stop(3, "[Custom] The file '%s' has no attribute 'convert'. Please check the file." % place)
    if not callable(module.convert):
        raise Stop(3, "[Custom] The 'convert' in %s is not function. Please check the file." % place)
    count = getattr(getattr(module.convert, "__code__", None), "co_argcount", None)
    expected = 4 if "to_FRACTAL_Z" in name else 3
    if count is not None and count != expected:
        raise Stop(3, "[Custom] The argument count (%d) of 'convert' in %s is not %d. Please check the file."
                   % (count, place, expected))
    return module.convert
def call(module, source, target, groups, read, write):
    convert = load(module)
    try:
        import numpy
        result = convert(source, target, numpy.load(read), *[groups] * (groups >= 2))
    except Exception as error:
        raise Stop(4, error)
    if not isinstance(result, numpy.ndarray):
        raise Stop(5, "The return value of 'convert' in '%s' is not numpy.ndarray. Please check the return value." % module)
    numpy.save(write, numpy.ascontiguousarray(result).reshape(result.shape))
for line in open(3):
    module, reason, *request = json.loads(line)
    status = 0
    try:
        call(module, *request) if request else load(module)
    except Stop as stop:
        status, text = stop.args
        with open(reason, "w") as file:
            file.write(str(text))
    os.write(3, bytes([status]))
)";

nlohmann::json json_list(const model::Shape& shape) {
  return std::vector<std::int64_t>(shape.dims().begin(), shape.dims().end());
}

// What a plug-in returned: the file is gone, its bytes stay mapped.
class PluginPieces final : public arrays::ArrayPieces {
 public:
  explicit PluginPieces(dump::StoredTensor tensor)
      : tensor_(std::move(tensor)), pieces_(arrays::make_pieces(tensor_.view(), std::nullopt)) {}
  Result<std::span<const std::byte>> next() override { return pieces_->next(); }

 private:
  dump::StoredTensor tensor_;
  std::unique_ptr<arrays::ArrayPieces> pieces_;
};

Status check_conversion(const fs::path& file, Log& log) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0)
    return log.fail(Status::invalid_path, io_error(file, "stat").message());
  if ((info.st_mode & S_IWOTH) != 0)
    return log.fail(Status::invalid_path, "File '" + file.string() +
                                              "' is dangerous. Others have writing permission to this file. "
                                              "Please use chmod to dismiss the writing permission.");
  if (static_cast<std::uint64_t>(info.st_size) > kLargestFile)
    return log.fail(Status::unknown, "'" + file.string() + "' file size (" + std::to_string(info.st_size) +
                                         ") exceeds " + std::to_string(kLargestFile));
  return Status::ok;
}

// Everything in the directory may be run or read by a script.
Status check_conversions(const fs::path& directory, Log& log) {
  std::error_code error;
  for (fs::recursive_directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (at->is_regular_file(error))
      if (const Status status = check_conversion(at->path(), log); status != Status::ok) return status;
  return Status::ok;
}

std::set<std::string> find_modules(const fs::path& folder, Log& log) {
  static const RE2 pattern("(convert_[A-Za-z0-9_]{1,128}_to_[A-Za-z0-9_]{1,128})\\.pyc?");
  std::set<std::string> modules;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!at->is_regular_file(error)) continue;
    const std::string name = at->path().filename().string();
    std::string module;
    if (RE2::FullMatch(name, pattern, &module))
      modules.insert(module);
    else
      log.warn("The file '" + name + "' does not match 'convert_{src_format}_to_{dest_format}.py in '" +
               folder.string() + "', please check the file.");
  }
  return modules;
}

// What the script wrote about a request that it did not answer with 0.
Result<std::string> ask(const FormatPlugins& plugins, nlohmann::json request, const fs::path& reason,
                        int& status) {
  request.insert(request.begin() + 1, reason.string());
  OPDUMP_TRY(status, plugins.servers->ask(json_text(request)));
  return status == 0 ? Result<std::string>(std::string()) : read_file(reason, kLargestReason);
}

// Leaves out the modules without a function to call. An error of one ends it all, as in the original.
Status load_modules(FormatPlugins& plugins, Log& log) {
  const auto directory = TemporaryDirectory::make();
  if (!directory) return log.fail(Status::unknown, directory.error().message());
  const std::set<std::string> modules = plugins.modules;
  for (const std::string& module : modules) {
    int status = 0;
    const auto text = ask(plugins, nlohmann::json::array({module}), directory->path() / "reason", status);
    if (!text) return log.fail(Status::unknown, text.error().message());
    if (status == kNoFunction) {
      log.warn(*text);
      plugins.modules.erase(module);
    } else if (status != 0) {
      return log.crash(*text);
    }
  }
  return Status::ok;
}

}  // namespace

Outcome<FormatPlugins> find_format_plugins(const std::string& directory, Log& log) {
  FormatPlugins plugins;
  plugins.directory = real_path(directory);
  Status status = check_path(plugins.directory.string(), PathKind::directory, log);
  if (status == Status::ok) status = check_conversions(plugins.directory, log);
  if (status != Status::ok) return Failure{status, ""};
  const fs::path folder = plugins.directory / kConversionFolder;
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    log.warn("There is no '" + std::string(kConversionFolder) + "' in '" + plugins.directory.string() +
             "', please check the custom path.");
    return plugins;
  }
  plugins.modules = find_modules(folder, log);
  if (plugins.modules.empty())
    log.warn("There is no legal 'convert_{src_format}_to_{dest_format}.py' file in '" + folder.string() +
             "', please check the path.");
  plugins.servers = std::make_shared<PythonServers>(kConversionScript,
                                                    std::vector<std::string>{plugins.directory.string()});
  status = load_modules(plugins, log);
  if (status != Status::ok) return Failure{status, ""};
  return plugins;
}

Result<arrays::Array> run_format_plugin(const FormatPlugins& plugins, const std::string& module,
                                        const model::Shape& from, const model::Shape& to, std::int64_t groups,
                                        arrays::Elements elements) {
  OPDUMP_TRY(const TemporaryDirectory directory, TemporaryDirectory::make());
  const fs::path input = directory.path() / "in.npy", output = directory.path() / "out.npy",
                 reason = directory.path() / "reason";
  arrays::Array flat;
  flat.dtype = arrays::file_dtype(elements.dtype);
  flat.shape = {static_cast<std::int64_t>(elements.count)};
  flat.pieces = arrays::make_pieces(std::move(elements));
  OPDUMP_CHECK_OK(arrays::write_npy(flat, false, input));
  const auto request = nlohmann::json::array(
      {module, json_list(from), json_list(to), groups, input.string(), output.string()});
  int status = 0;
  OPDUMP_TRY(const std::string text, ask(plugins, request, reason, status));
  if (status != 0) return Error(status == kNoArray ? Code::unsupported : Code::internal, text);
  OPDUMP_TRY(dump::StoredTensor stored, dump::StoredTensor::read(output));
  arrays::Array array;
  array.dtype = stored.view().dtype;
  array.shape = stored.view().shape;
  array.pieces = std::make_unique<PluginPieces>(std::move(stored));
  return array;
}

}  // namespace opdump::msaccucmp
