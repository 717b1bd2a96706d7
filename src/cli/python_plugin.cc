#include "cli/python_plugin.h"

#include <sys/stat.h>

#include <re2/re2.h>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "cli/array_file.h"
#include "cli/msaccucmp_dump.h"
#include "cli/python_process.h"
#include "dump/dump_set.h"

namespace opdump::cli {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFolder = "format_convert";
constexpr std::uint64_t kLargestFile = 1 << 20;  // the original's limit for a script, in bytes
constexpr std::uint64_t kLargestReason = 1 << 16;
constexpr int kNoFunction = 3;

// argv: directory. A request is a list: module, shape, shape, groups, file to read, file to write, file for
// the reason; the answer 0 or what went wrong.
constexpr const char* kScript = R"(
import importlib, json, socket, sys
sys.path.append(sys.argv[1])
class Stop(Exception):
    pass
def call(module, source, target, groups, read, write):
    try:
        import numpy
        convert = getattr(importlib.import_module("format_convert." + module), "convert", None)
    except Exception as error:
        raise Stop(4, error)
    count = getattr(getattr(convert, "__code__", None), "co_argcount", None)
    expected = 4 if "to_FRACTAL_Z" in module else 3
    if not callable(convert):
        raise Stop(3, "The file 'format_convert.%s' has no attribute 'convert'. Please check the file." % module)
    if count is not None and count != expected:
        raise Stop(3, "The argument count (%d) of 'convert' in format_convert.%s is not %d. Please check the file."
                   % (count, module, expected))
    try:
        result = convert(source, target, numpy.load(read), *[groups] * (groups >= 2))
    except Exception as error:
        raise Stop(4, error)
    if not isinstance(result, numpy.ndarray):
        raise Stop(4, "The return value of 'convert' in '%s' is not numpy.ndarray. Please check the return value." % module)
    numpy.save(write, numpy.ascontiguousarray(result).reshape(result.shape))
with socket.socket(fileno=3) as connection, connection.makefile("rw") as channel:
    for line in channel:
        *request, reason = json.loads(line)
        status = 0
        try:
            call(*request)
        except Stop as stop:
            status, text = stop.args
            with open(reason, "w") as file:
                file.write(str(text))
        print(status, file=channel, flush=True)
)";

nlohmann::json json_list(const model::Shape& shape) {
  return std::vector<std::int64_t>(shape.dims().begin(), shape.dims().end());
}

// What a plug-in returned: the file is gone, its bytes stay mapped.
class PluginPieces final : public ArrayPieces {
 public:
  explicit PluginPieces(dump::StoredTensor tensor)
      : tensor_(std::move(tensor)), pieces_(make_pieces(tensor_.view(), std::nullopt)) {}
  Result<std::span<const std::byte>> next() override { return pieces_->next(); }

 private:
  dump::StoredTensor tensor_;
  std::unique_ptr<ArrayPieces> pieces_;
};

Status check_script(const fs::path& file, Log& log) {
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

}  // namespace

FoundPlugins find_format_plugins(const std::string& directory, Log& log) {
  FoundPlugins found;
  found.plugins.directory = real_path(directory);
  found.status = check_path(found.plugins.directory, PathKind::directory, log);
  if (found.status != Status::ok) return found;
  const fs::path folder = found.plugins.directory / kFolder;
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    log.warning("There is no '" + std::string(kFolder) + "' in '" + found.plugins.directory.string() +
                "', please check the custom path.");
    return found;
  }
  static const RE2 pattern("(convert_[A-Za-z0-9_]{1,128}_to_[A-Za-z0-9_]{1,128})\\.py");
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!at->is_regular_file(error)) continue;
    if (const Status status = check_script(at->path(), log); status != Status::ok) found.status = status;
    const std::string name = at->path().filename().string();
    std::string module;
    if (RE2::FullMatch(name, pattern, &module))
      found.plugins.modules.insert(module);
    else
      log.warning("The file '" + name + "' does not match 'convert_{src_format}_to_{dest_format}.py in '" +
                  folder.string() + "', please check the file.");
  }
  if (found.plugins.modules.empty())
    log.warning("There is no legal 'convert_{src_format}_to_{dest_format}.py' file in '" + folder.string() +
                "', please check the path.");
  found.plugins.server =
      std::make_shared<PythonServer>(kScript, std::vector<std::string>{found.plugins.directory.string()});
  return found;
}

Result<Array> run_format_plugin(const FormatPlugins& plugins, const std::string& module,
                                const model::Shape& from, const model::Shape& to, std::int64_t groups,
                                Elements elements) {
  OPDUMP_TRY(const TemporaryDirectory directory, TemporaryDirectory::make());
  const fs::path input = directory.path() / "in.npy", output = directory.path() / "out.npy",
                 reason = directory.path() / "reason";
  Array flat;
  flat.dtype = file_dtype(elements.dtype);
  flat.shape = {static_cast<std::int64_t>(elements.count)};
  flat.pieces = make_pieces(std::move(elements));
  OPDUMP_CHECK_OK(write_npy(flat, false, input));
  const nlohmann::json request = {module,         json_list(from), json_list(to),  groups,
                                  input.string(), output.string(), reason.string()};
  OPDUMP_TRY(const int status, plugins.server->ask(request.dump()));
  if (status != 0) {
    const auto text = read_file(reason, kLargestReason);
    return Error(status == kNoFunction ? Code::unsupported : Code::internal, text ? *text : "python3 ended");
  }
  OPDUMP_TRY(dump::StoredTensor stored, dump::StoredTensor::read(output));
  Array array;
  array.dtype = stored.view().dtype;
  array.shape = stored.view().shape;
  array.pieces = std::make_unique<PluginPieces>(std::move(stored));
  return array;
}

}  // namespace opdump::cli
