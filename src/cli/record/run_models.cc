#include "cli/record/run_models.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file/file_replacement.h"
#include "base/text/text.h"
#include "cli/arguments.h"
#include "cli/record/against.h"
#include "cli/record/golden_data.h"
#include "cli/record/model_inputs.h"
#include "cli/record/run_config.h"
#include "dump/write/npy_file.h"
#include "opdump/opdump_onnxruntime.h"
#include "terminal/output.h"

namespace opdump::cli {
namespace {

namespace fs = std::filesystem;

struct ModelArguments {
  RecordingArguments recording;
  AgainstArguments against;
  std::string device_format, input_folder, output_folder;
  std::vector<std::string> models, inputs;
  std::optional<std::uint64_t> seed;
  std::uint32_t executions = 0, threads = 0;
  std::int32_t device = 0;
  bool as_executed = false;
};

// Beside those of every recording.
constexpr std::array kValueOptions{"--device-format", "--input",      "--input-dir", "--random",
                                   "--executions",    "--output-dir", "--threads",   "--device"};

struct CloseSession {
  void operator()(opdump_session* session) const { opdump_close(session); }
};
using SessionPointer = std::unique_ptr<opdump_session, CloseSession>;

struct UnloadModel {
  void operator()(opdump_onnx_model* model) const { opdump_onnx_unload(model); }
};
using ModelPointer = std::unique_ptr<opdump_onnx_model, UnloadModel>;

void log_line(void*, int level, const char* line) {
  terminal::print_error(level >= OPDUMP_LOG_WARNING ? std::string("warning: ") + line : line);
}

Code to_code(opdump_status status) {
  switch (status) {
    case OPDUMP_ERROR_CONFIG:
      return Code::config;
    case OPDUMP_ERROR_IO:
      return Code::io;
    case OPDUMP_ERROR_ARGUMENT:
      return Code::corrupt;
    case OPDUMP_ERROR_EXISTS:
      return Code::usage;
    default:
      return Code::internal;
  }
}

Error session_error(opdump_status status) { return {to_code(status), opdump_last_error()}; }
Error model_error(opdump_status status) { return {to_code(status), opdump_onnx_last_error()}; }

Result<SessionPointer> open_session(const ModelArguments& arguments, const std::string& config) {
  opdump_options options{};
  options.size = sizeof options;
  options.config_path = config.c_str();
  const RecordingArguments& recording = arguments.recording;
  options.dialect = recording.dialect.empty() ? nullptr : recording.dialect.c_str();
  options.mode = recording.mode.empty() ? nullptr : recording.mode.c_str();
  options.strict = recording.strict;
  options.device_id = arguments.device;
  options.log = log_line;
  opdump_onnx_prepare(&options);
  opdump_session* session = nullptr;
  if (const opdump_status status = opdump_open(&options, &session); status != OPDUMP_OK)
    return session_error(status);
  return SessionPointer(session);
}

Result<ModelPointer> load_model(const ModelArguments& arguments, const std::string& path, std::int64_t id) {
  if (path.ends_with(".om"))
    return Error(Code::unsupported,
                 path +
                     ": an offline model, made for one kind of processor; opdump runs ONNX models: "
                     "pass the .onnx file it was converted from");
  opdump_onnx_options options{};
  options.size = sizeof options;
  options.path = path.c_str();
  options.as_executed = arguments.as_executed;
  options.graph_id = id;
  options.threads = arguments.threads;
  options.log = log_line;
  opdump_onnx_model* model = nullptr;
  if (const opdump_status status = opdump_onnx_load(&options, &model); status != OPDUMP_OK)
    return model_error(status);
  return ModelPointer(model);
}

InputSlot slot_of(const opdump_onnx_model* model, std::size_t index) {
  opdump_onnx_value value{};
  value.size = sizeof value;
  opdump_onnx_input(model, index, &value);
  return {value.name,
          static_cast<model::DType>(value.dtype),
          value.has_shape != 0,
          {value.shape, value.shape + value.rank}};
}

// A file name of an output: its name without what means something to a file system.
std::string file_name(std::string name) {
  for (char& c : name)
    if (c == '/' || c == '\\' || c == '\0') c = '_';
  return name.empty() || name == "." || name == ".." ? "_" + name : name;
}

Result<> write_output(const opdump_tensor& tensor, const fs::path& path) {
  if (tensor.undumped) {
    terminal::print_error("warning: " + path.string() + " is not written: " + tensor.undumped);
    return ok();
  }
  const model::TensorView view =
      model::TensorView::row_major(static_cast<model::DType>(tensor.dtype),
                                   model::Shape(std::span(tensor.shape, tensor.rank)), tensor.data);
  auto header = dump::npy_header_for(view);
  if (!header) return header.take_error().within(path.string());
  OPDUMP_CHECK_OK(make_directories(path.parent_path(), 0777));
  OPDUMP_TRY(FileReplacement file, FileReplacement::begin(path, 0666));
  OPDUMP_CHECK_OK(dump::write_npy(file.fd(), *header, view, path));
  return file.finish();
}

// One model: its executions, one after the other.
class ModelRun {
 public:
  ModelRun(const ModelArguments& arguments, const InputSource& source, opdump_session* session,
           opdump_onnx_model* model, const std::string& path)
      : arguments_(arguments), source_(source), session_(session), model_(model), path_(path) {
    for (std::size_t i = 0; i < opdump_onnx_input_count(model); ++i) slots_.push_back(slot_of(model, i));
  }

  Result<> run() {
    const std::size_t inner = opdump_onnx_inner_operator_count(model_);
    if (inner > 0)
      terminal::print_error("warning: " + path_ + ": " + counted(inner, "operator") +
                            " in subgraphs (bodies of If, Loop, Scan)" + inflect(inner, " is", " are") +
                            " not recorded");
    const std::size_t count = arguments_.executions ? arguments_.executions : source_.execution_count();
    for (std::size_t execution = 0; execution < count; ++execution) OPDUMP_CHECK_OK(run_once(execution));
    return ok();
  }

 private:
  Result<> run_once(std::size_t execution) {
    std::vector<InputValue> values;
    for (const InputSlot& slot : slots_) {
      OPDUMP_TRY(InputValue value, source_.value(slot, execution));
      values.push_back(std::move(value));
    }
    std::vector<opdump_tensor> inputs;
    for (std::size_t i = 0; i < values.size(); ++i) inputs.push_back(describe(values[i], slots_[i]));
    std::vector<opdump_tensor> outputs(opdump_onnx_output_count(model_));
    for (opdump_tensor& output : outputs) output.size = sizeof output;
    opdump_set_step(session_, static_cast<std::int64_t>(execution));
    const opdump_status status =
        opdump_onnx_run(model_, session_, inputs.data(), inputs.size(), outputs.data(), outputs.size());
    if (status != OPDUMP_OK) return model_error(status).within(path_);
    return write_outputs(outputs, execution);
  }

  static opdump_tensor describe(const InputValue& value, const InputSlot& slot) {
    opdump_tensor tensor{};
    tensor.size = sizeof tensor;
    tensor.dtype = static_cast<std::uint32_t>(slot.dtype);
    tensor.rank = static_cast<std::uint32_t>(value.shape.rank());
    tensor.shape = value.shape.dims().data();
    tensor.data = value.bytes.data();
    return tensor;
  }

  Result<> write_outputs(const std::vector<opdump_tensor>& outputs, std::size_t execution) const {
    if (arguments_.output_folder.empty()) return ok();
    const fs::path folder =
        fs::path(arguments_.output_folder) / fs::path(path_).stem() / std::to_string(execution);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      opdump_onnx_value value{};
      value.size = sizeof value;
      opdump_onnx_output(model_, i, &value);
      OPDUMP_CHECK_OK(write_output(outputs[i], folder / (file_name(value.name) + ".npy")));
    }
    return ok();
  }

  const ModelArguments& arguments_;
  const InputSource& source_;
  opdump_session* session_;
  opdump_onnx_model* model_;
  const std::string& path_;
  std::vector<InputSlot> slots_;
};

// Every file that is given is one that some model takes.
Result<> check_names(const InputSource& source, const std::vector<ModelPointer>& models) {
  std::vector<std::string> known;
  for (const ModelPointer& model : models)
    for (std::size_t i = 0; i < opdump_onnx_input_count(model.get()); ++i)
      known.push_back(slot_of(model.get(), i).name);
  for (const std::string& name : source.names()) {
    if (std::ranges::find(known, name) != known.end()) continue;
    std::string text = "no model has an input " + name + "; there are";
    for (const std::string& other : known) text += " " + other;
    return Error(Code::usage, text);
  }
  return ok();
}

// What is wrong with the inputs of the first execution is said before anything is recorded.
Result<> check_files(const InputSource& source, const std::vector<ModelPointer>& models) {
  for (const ModelPointer& model : models)
    for (std::size_t i = 0; i < opdump_onnx_input_count(model.get()); ++i) {
      const InputSlot slot = slot_of(model.get(), i);
      if (!source.is_random(slot.name)) OPDUMP_CHECK_OK(source.value(slot, 0));
    }
  return ok();
}

Result<> run_all(const ModelArguments& arguments) {
  OPDUMP_TRY(const RunConfig config, find_config(arguments.recording, true));
  OPDUMP_TRY(const InputSource source,
             InputSource::make(arguments.inputs, arguments.input_folder, arguments.seed));
  std::vector<ModelPointer> models;
  for (const std::string& path : arguments.models) {
    OPDUMP_TRY(ModelPointer model, load_model(arguments, path, static_cast<std::int64_t>(models.size()) + 1));
    models.push_back(std::move(model));
  }
  OPDUMP_CHECK_OK(check_names(source, models));
  OPDUMP_CHECK_OK(check_files(source, models));
  OPDUMP_TRY(PreparedFolder folder, prepare_recording(config, arguments.recording));
  OPDUMP_TRY(SessionPointer session, open_session(arguments, config.path));
  folder.keep();
  if (!session) terminal::print_error("warning: the configuration asks for no dump");
  for (std::size_t i = 0; i < models.size(); ++i)
    OPDUMP_CHECK_OK(ModelRun(arguments, source, session.get(), models[i].get(), arguments.models[i]).run());
  if (const opdump_status status = opdump_close(session.release()); status != OPDUMP_OK)
    return session_error(status);
  return ok();
}

void add_options(CLI::App& app, ModelArguments& arguments) {
  add_recording_options(app, arguments.recording);
  add_against_options(app, arguments.against);
  app.add_option("--device-format", arguments.device_format,
                 "layouts to store tensors in, for acl.json: NC1HWC0,FRACTAL_NZ,...");
  app.add_option("--input", arguments.inputs,
                 "NAME=FILE.npy; the k-th file of an input is for the k-th execution")
      ->allow_extra_args(false);  // one file each time
  app.add_option("--input-dir", arguments.input_folder,
                 "folder with NAME.npy for each input, or 0/NAME.npy, 1/NAME.npy, ... for each execution");
  app.add_option("--random", arguments.seed,
                 "generate inputs without a file from this seed; unknown dimensions are 1");
  app.add_option("--executions", arguments.executions,
                 "executions of each model; default: the number of input files");
  app.add_option("--output-dir", arguments.output_folder,
                 "write the models' outputs to DIR/MODEL/EXECUTION/NAME.npy");
  app.add_flag("--as-executed", arguments.as_executed,
               "dump the operators that ONNX Runtime executes after its optimizations");
  app.add_option("--threads", arguments.threads, "of ONNX Runtime");
  app.add_option("--device", arguments.device, "the device number in paths");
  app.add_option("MODEL", arguments.models, "ONNX models")->required();
}

}  // namespace

bool names_model(std::span<const char* const> args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string_view word = args[i];
    if (word == "--") return false;
    if (is_recording_option(word) || is_against_option(word) ||
        std::ranges::find(kValueOptions, word) != kValueOptions.end())
      ++i;
    else if (!word.starts_with("-"))
      return word.ends_with(".onnx") || word.ends_with(".om");
  }
  return false;
}

Result<int> run_models(std::span<const char* const> args) {
  ModelArguments arguments;
  CLI::App app("Runs ONNX models with ONNX Runtime and dumps what their operators read and write.",
               "opdump run MODEL.onnx");
  add_options(app, arguments);
  app.footer(
      "Examples:\n  opdump run -o golden resnet50.onnx --input data=image.npy\n"
      "  opdump run --config acl.json resnet50.onnx --input data=image.npy\n"
      "  opdump run --against golden resnet50.onnx --input data=image.npy --as-executed\n"
      "  opdump run --golden golden resnet50.onnx --input data=image.npy\n"
      "  opdump run --config acl.json --as-executed --random 7 a.onnx b.onnx");
  if (auto finished = parse_arguments(app, args)) return std::move(*finished);
  if (!arguments.device_format.empty()) ::setenv("OPDUMP_DEVICE_FORMAT", arguments.device_format.c_str(), 1);
  if (!arguments.against.golden.empty()) return run_against(args, arguments.against, arguments.recording);
  OPDUMP_TRY(const GoldenData golden, GoldenData::begin(arguments.recording));
  OPDUMP_CHECK_OK(run_all(arguments));
  return golden.finish();
}

}  // namespace opdump::cli
