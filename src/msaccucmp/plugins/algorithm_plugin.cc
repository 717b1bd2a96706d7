#include "msaccucmp/plugins/algorithm_plugin.h"

#include <fcntl.h>
#include <re2/re2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file/file.h"
#include "base/text/json.h"
#include "base/text/text.h"
#include "format/tensors/npy.h"
#include "math/convert.h"
#include "msaccucmp/log.h"
#include "msaccucmp/paths.h"
#include "msaccucmp/plugins/python_plugin.h"
#include "msaccucmp/plugins/python_process.h"

namespace opdump::msaccucmp {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFolder = "algorithm";
constexpr std::int64_t kLargestScript = 1 << 20;
constexpr std::uint64_t kLargestAnswer = 1 << 20;
constexpr std::size_t kBlock = 1 << 16;
constexpr unsigned kFileMode = 0600;

// Of an answer that is no text the original says no more than "compare".
// argv: folder, name. A request is a list: file for the answer, my array, golden array, JSON of the
// arguments; the first word alone asks whether the algorithm is usable.
constexpr const char* kScript = R"(
import enum, importlib, json, os, sys
folder, name = sys.argv[1:3]
def reply(answer, **result):
    with open(answer, "w") as file:
        json.dump(result, file)
class ShapeType(enum.Enum):
    Scalar = 0
    Vector = 1
    Matrix = 2
    Tensor = 3
class AlgorithmParameter:
    def get(self):
        return self.__dict__
    get_dict = get
def load():
    try:
        global numpy
        import numpy
        sys.path.append(folder)
        module = importlib.import_module("algorithm.alg_" + name)
    except Exception as error:
        return None, {"error": str(error)}
    compare, place = getattr(module, "compare", None), module.__file__
    if compare is None:
        return None, {"unusable": "[Custom] The file '%s' has no attribute 'compare'. Please check the file." % place}
    if not callable(compare):
        return None, {"unusable": "[Custom] The 'compare' in %s is not function. Please check the file." % place}
    count = compare.__code__.co_argcount if hasattr(compare, "__code__") else 3
    if count != 3:
        return None, {"unusable": "[Custom] The argument count (%d) of 'compare' in %s is not 3. Please check the file."
                                  % (count, place)}
    return compare, {}
def run(compare, left, right, text):
    arguments = AlgorithmParameter()
    arguments.__dict__.update(json.loads(text))
    arguments.shape_type = ShapeType[arguments.shape_type]
    numpy.seterr(divide="ignore", invalid="ignore")
    try:
        value, message = compare(numpy.load(left), numpy.load(right), arguments)
    except Exception as error:
        return {"error": str(error)}
    if not isinstance(value, str) or not isinstance(message, str):
        return {"error": "compare"}
    return {"value": value, "message": message}
compare, problem = load()
for line in open(3):
    answer, *call = json.loads(line)
    reply(answer, **(run(compare, *call) if call and compare else problem))
    os.write(3, b".")
)";

// The elements as the original gives them to algorithms: float32.
Result<> write_floats(const TensorData& data, const std::string& path) {
  const std::uint64_t count = data.count();
  OPDUMP_TRY(const std::string header,
             format::encode_npy_header(model::DType::float32, {static_cast<std::int64_t>(count)},
                                       format::NpySpelling::numpy));
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode));
  if (!fd) return io_error(path, "create");
  OPDUMP_CHECK_OK(write_all(fd, std::as_bytes(std::span(header)), path));
  std::vector<float> block(std::min<std::uint64_t>(count, kBlock));
  const std::uint64_t size = model::dtype_info(data.dtype).bits / 8;
  for (std::uint64_t first = 0; first < count; first += kBlock) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, count - first));
    math::convert_elements(data.dtype, data.bytes + first * size, block.data(), n);
    OPDUMP_CHECK_OK(write_all(fd, std::as_bytes(std::span(block).first(n)), path));
  }
  return ok();
}

// The answer to `request`, the first word of which is the file for it.
Result<nlohmann::json> ask(PythonServers& servers, const std::vector<std::string>& request) {
  const auto replace = nlohmann::json::error_handler_t::replace;
  OPDUMP_CHECK_OK(servers.ask(nlohmann::json(request).dump(-1, ' ', true, replace)));
  OPDUMP_TRY(const std::string text, read_file(request[0], kLargestAnswer));
  nlohmann::json json = parse_json(text);
  if (!json.is_object()) return Error(Code::internal, "python3 gave no answer");
  return json;
}

std::string text_of(const nlohmann::json& answer, const char* key) {
  const auto found = answer.find(key);
  return found == answer.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

Outcome<AlgorithmAnswer> run_algorithm(PythonServers& servers, const TensorData& mine,
                                       const TensorData& golden, const PairFacts& facts,
                                       const std::map<std::string, std::string>& options) {
  const auto directory = TemporaryDirectory::make();
  if (!directory) return Failure{Status::write_file, directory.error().message()};
  const std::string place = directory->path().string();
  const std::string left = place + "/mine.npy", right = place + "/golden.npy",
                    answer = place + "/answer.json";
  for (const auto& [data, path] : {std::pair(&mine, &left), std::pair(&golden, &right)})
    if (const auto written = write_floats(*data, *path); !written)
      return Failure{Status::write_file, written.error().message()};
  nlohmann::json arguments = options;
  arguments["my_output_dump_file"] = facts.my_path;
  arguments["ground_truth_dump_file"] = facts.golden_path;
  arguments["shape_type"] = facts.is_scalar ? "Scalar" : "Tensor";
  const std::string text = arguments.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  const auto said = ask(servers, {answer, left, right, text});
  if (!said) return Failure{Status::algorithm, said.error().message()};
  if (const std::string error = text_of(*said, "error"); !error.empty() || !said->contains("value"))
    return Failure{Status::algorithm, error};
  return AlgorithmAnswer{text_of(*said, "value"), text_of(*said, "message")};
}

// The name in "alg_NAME.py" or "alg_NAME.pyc"; "" for another file.
std::string name_of(const std::string& file) {
  static const RE2 pattern("alg_([A-Za-z0-9_]+)\\.pyc?");
  std::string name;
  return RE2::FullMatch(file, pattern, &name) ? name : "";
}

bool is_usable(PythonServers& servers, Log& log) {
  const auto directory = TemporaryDirectory::make();
  if (!directory) {
    log.warn(directory.error().message());
    return false;
  }
  const std::string answer = (directory->path() / "answer.json").string();
  const auto said = ask(servers, {answer});
  std::string problem = said ? text_of(*said, "unusable") : said.error().message();
  if (said && problem.empty()) problem = text_of(*said, "error");
  if (!problem.empty()) log.warn(problem);
  return problem.empty();
}

Outcome<std::monostate> check_script(const std::string& path, Log& log) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return log.fail(Status::invalid_path, io_error(path, "stat").message());
  if ((info.st_mode & S_IWOTH) != 0)
    return log.fail(Status::invalid_path,
                    "File '" + path +
                        "' is dangerous. Others have writing permission to this file. Please use chmod "
                        "to dismiss the writing permission.");
  if (info.st_size <= kLargestScript) return std::monostate{};
  const std::string size = std::to_string(info.st_size);
  log.warn("The size (" + size + ") of '" + path +
           "' exceeds 1MB, it may task more time to run, please wait.");
  log.error("'" + path + "' file size (" + size + ") exceeds " + std::to_string(kLargestScript));
  return Failure{Status::unknown, ""};
}

// All below may be run or read by an algorithm.
Outcome<std::monostate> check_scripts(const fs::path& folder, Log& log) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!it->is_regular_file(error)) continue;
    OPDUMP_TRY([[maybe_unused]] const std::monostate safe, check_script(it->path().string(), log));
  }
  return std::monostate{};
}

// Whether the words of -alg can mean `name`: numbers and "all" mean what has the name of a built-in one.
bool can_mean(const std::string& selection, const std::string& name) {
  const auto words = split(selection, ',');
  return std::ranges::any_of(words, [&](std::string_view word) { return trim(word) == name; }) ||
         std::ranges::find(kAccuracyNames, name) != kAccuracyNames.end();
}

Outcome<std::map<std::string, CustomAlgorithm>> find_algorithm_plugins(const std::string& custom,
                                                                       const std::string& selection,
                                                                       Log& log) {
  std::map<std::string, CustomAlgorithm> found;
  const fs::path scripts = fs::path(custom) / kFolder;
  const std::string shown = scripts.string(), folder = real_text(custom);
  std::error_code error;
  if (!fs::exists(scripts, error)) {
    log.warn("There is no '" + std::string(kFolder) + "' in ''" + scripts.parent_path().string() +
             "'', please check the custom path.");
    return found;
  }
  OPDUMP_TRY([[maybe_unused]] const std::monostate safe, check_scripts(scripts, log));
  for (fs::directory_iterator it(scripts, error), end; !error && it != end; it.increment(error)) {
    if (!it->is_regular_file(error)) continue;
    const std::string file = it->path().filename().string(), name = name_of(file);
    if (name.empty()) {
      log.warn("The file ''" + file + "'' does not match 'alg_{algorithm_name}.py' in ''" + shown +
               "'', please check the file.");
      continue;
    }
    const auto servers = std::make_shared<PythonServers>(kScript, std::vector<std::string>{folder, name});
    CustomAlgorithm& algorithm = found[name];
    if (can_mean(selection, name) && !is_usable(*servers, log)) continue;
    algorithm = [servers](const TensorData& mine, const TensorData& golden, const PairFacts& facts,
                          const std::map<std::string, std::string>& options) {
      return run_algorithm(*servers, mine, golden, facts, options);
    };
  }
  if (found.empty())
    log.warn("There is no legal 'alg_{algorithm_name}.py' file in ''" + shown + "'', please check the path.");
  return found;
}

std::string module_of(const LayoutRequest& change) {
  return "convert_" + std::string(model::format_name(change.from)) + "_to_" +
         std::string(model::format_name(change.to));
}

// All of an array that a script has made.
Outcome<TensorData> gather(arrays::Array array, Log& log) {
  const std::uint64_t size = array.byte_count();
  OPDUMP_TRY(const auto memory, make_memory(size, log));
  for (std::uint64_t done = 0; done < size;) {
    const auto piece = array.pieces->next();
    if (!piece || piece->empty() || piece->size() > size - done)
      return log.fail(Status::convert_function, "The array of a script is not whole.");
    std::memcpy(memory.get() + done, piece->data(), piece->size());
    done += piece->size();
  }
  return TensorData{array.dtype, array.shape, memory.get(), memory};
}

LayoutPlugin layout_plugin(const FormatPlugins& scripts) {
  return [scripts](const LayoutRequest& change, const TensorData& data,
                   Log& log) -> std::optional<Outcome<TensorData>> {
    const std::string module = module_of(change);
    if (!scripts.modules.contains(module)) return std::nullopt;
    arrays::Elements elements;
    elements.dtype = data.dtype;
    elements.count = data.count();
    elements.bytes = {data.bytes, data.view().byte_count()};
    auto made = run_format_plugin(scripts, module, change.stored, change.wanted, change.groups, elements);
    if (made) return gather(std::move(*made), log);
    log.error("Failed to execute 'convert' in '" + module + "'. " + made.error().message());
    return Failure{Status::convert_function, ""};
  };
}

}  // namespace

Outcome<Plugins> find_plugins(const std::string& custom, const std::string& selection, bool with_layouts,
                              Log& log) {
  Plugins plugins;
  if (custom.empty()) return plugins;
  if (const Status status = check_path(custom, PathKind::directory, log); status != Status::ok)
    return Failure{status, ""};
  OPDUMP_TRY(plugins.algorithms, find_algorithm_plugins(custom, selection, log));
  if (!with_layouts) return plugins;
  const auto scripts = find_format_plugins(custom, log);
  if (!scripts) {
    const Status status = scripts.error();
    return Failure{status == kCrash ? Status::unknown : status, ""};
  }
  if (!scripts->modules.empty()) plugins.layouts = layout_plugin(*scripts);
  return plugins;
}

}  // namespace opdump::msaccucmp
