#include "model.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base.h"
#include "failure.h"
#include "runtime.h"

namespace opdump::acl {
namespace {

namespace fs = std::filesystem;

bool is_offline_model(std::string_view start) { return start.starts_with("IMOD"); }

// None of what is no regular file: opening a pipe would wait for ever.
std::string first_bytes(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  std::ifstream file(path, std::ios::binary);
  std::string start(4, '\0');
  file.read(start.data(), 4);
  start.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return start;
}

constexpr const char* kNotOnnx =
    " is an offline model, made for one kind of processor: it cannot be run here. Put the ONNX file that it "
    "was "
    "converted from beside it, under the same name with .onnx, or pass that";

// The file to run in place of `path`: an offline model gives way to the ONNX file beside it. Empty if there
// is none.
fs::path find_onnx(const fs::path& path) {
  std::error_code error;
  if (path.extension() != ".om" && !is_offline_model(first_bytes(path))) return path;
  if (fs::exists(path, error) && !is_offline_model(first_bytes(path))) return path;
  fs::path beside = path;
  beside.replace_extension(".onnx");
  if (!fs::exists(beside, error)) return {};
  write_log(nullptr, OPDUMP_LOG_INFO, ("runs " + beside.string() + " in place of " + path.string()).c_str());
  return beside;
}

Port to_port(const opdump_onnx_value& value) {
  return {value.name,
          acl_type(value.dtype),
          value.has_shape != 0,
          {value.shape, value.shape + value.rank},
          {value.dim_names, value.dim_names + value.rank}};
}

opdump_tensor to_tensor(const Port& port, const Argument& argument) {
  opdump_tensor tensor{};
  tensor.size = sizeof tensor;
  tensor.dtype = data_type(port.type).ours;
  tensor.rank = static_cast<std::uint32_t>(argument.dims.size());
  tensor.shape = argument.dims.data();
  tensor.data = argument.data;
  return tensor;
}

bool wants_as_executed() {
  const char* value = std::getenv("OPDUMP_AS_EXECUTED");
  return value && std::strcmp(value, "1") == 0;
}

}  // namespace

std::uint64_t take_tasks(std::uint64_t count) {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(count);
}

bool Model::is_dynamic() const { return std::ranges::any_of(inputs_, &Port::is_dynamic); }

aclError Model::load(const char* path, const void* data, std::size_t size, std::uint32_t id,
                     std::shared_ptr<Model>& model) {
  fs::path file = path ? path : "";
  if (data && size >= 4 && is_offline_model({static_cast<const char*>(data), 4}))
    return fail(ACL_ERROR_PARSE_MODEL, std::string("the model in memory") + kNotOnnx);
  if (path && (file = find_onnx(path)).empty())
    return fail(ACL_ERROR_PARSE_MODEL, path + std::string(kNotOnnx));
  std::error_code error;
  if (path && !fs::is_regular_file(file, error))
    return fail(ACL_ERROR_READ_MODEL_FAILURE, file.string() + ": there is no such file");
  const std::string name = file.string();
  opdump_onnx_options options{};
  options.size = sizeof options;
  options.path = path ? name.c_str() : nullptr;
  options.data = data;
  options.byte_count = size;
  options.graph_id = id;
  options.as_executed = wants_as_executed();
  options.log = write_log;
  std::shared_ptr<Model> loaded(new Model);
  if (const opdump_status status = opdump_onnx_load(&options, &loaded->onnx_); status != OPDUMP_OK)
    return fail(status == OPDUMP_ERROR_ARGUMENT ? ACL_ERROR_PARSE_MODEL : ACL_ERROR_GE_FAILURE,
                opdump_onnx_last_error());
  loaded->number_tasks();
  opdump_onnx_value value{};
  value.size = sizeof value;
  for (std::size_t i = 0; opdump_onnx_input(loaded->onnx_, i, &value) == OPDUMP_OK; ++i)
    loaded->inputs_.push_back(to_port(value));
  for (std::size_t i = 0; opdump_onnx_output(loaded->onnx_, i, &value) == OPDUMP_OK; ++i)
    loaded->outputs_.push_back(to_port(value));
  if (const aclError code = Gears::read(loaded->inputs_, loaded->gears_); code != ACL_SUCCESS) return code;
  loaded->dump_ = DumpControl::instance().current();
  model = std::move(loaded);
  return ACL_SUCCESS;
}

void Model::number_tasks() {
  task_count_ = opdump_onnx_operator_count(onnx_) - opdump_onnx_inner_operator_count(onnx_);
  first_task_ = take_tasks(task_count_);
  opdump_onnx_number_tasks(onnx_, first_task_);
}

const char* Model::find_operator(std::uint64_t task) const {
  return task < first_task_ ? nullptr : opdump_onnx_operator_name(onnx_, task - first_task_);
}

aclError Model::describe(const char* op, bool outputs, std::vector<Port>& ports) {
  const std::lock_guard lock(mutex_);
  opdump_onnx_value value{};
  value.size = sizeof value;
  const std::size_t count = opdump_onnx_operand_count(onnx_, op, outputs);
  for (std::size_t i = 0; i < count; ++i) {
    if (opdump_onnx_operand(onnx_, op, outputs, i, &value) != OPDUMP_OK)
      return fail(ACL_ERROR_GE_FAILURE, opdump_onnx_last_error());
    ports.push_back(to_port(value));
  }
  return ACL_SUCCESS;
}

void Model::tell_failure(const char* op) const {
  for (std::uint64_t i = 0; op && i < task_count_; ++i)
    if (opdump_onnx_operator_name(onnx_, i) == op)
      call_exception_callback(first_task_ + i, ACL_ERROR_GE_FAILURE);
}

aclError Model::execute(const std::vector<Argument>& inputs, const std::vector<Argument>& outputs) {
  std::vector<opdump_tensor> in, out(outputs_.size());
  for (opdump_tensor& tensor : out) tensor.size = sizeof tensor;
  for (std::size_t i = 0; i < inputs.size(); ++i) in.push_back(to_tensor(inputs_[i], inputs[i]));
  std::unique_lock lock(mutex_);
  const auto run = [&](opdump_session* session) {
    opdump_set_step(session, executions_);
    return opdump_onnx_run(onnx_, session, in.data(), in.size(), out.data(), out.size());
  };
  const opdump_status status = dump_ ? dump_->with_session(current_device(), run) : run(nullptr);
  ++executions_;
  if (status != OPDUMP_OK) {
    const std::string text = opdump_onnx_last_error();
    const char* failed = opdump_onnx_failed_operator(onnx_);
    lock.unlock();  // the callback may ask for descriptions
    tell_failure(failed);
    return fail(ACL_ERROR_GE_FAILURE, text);
  }
  current_.assign(out.size(), {});
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::string what = "output " + outputs_[i].name;
    if (!out[i].data && out[i].undumped)
      return fail(ACL_ERROR_UNSUPPORTED_DATA_TYPE, what + " is not a tensor of numbers: " + out[i].undumped);
    current_[i].assign(out[i].shape, out[i].shape + out[i].rank);
    const std::size_t size = byte_count(acl_type(out[i].dtype), out[i].shape, out[i].rank);
    if (size > outputs[i].size)
      return fail(ACL_ERROR_MODEL_OUTPUT_NOT_MATCH, what + " has " + std::to_string(size) +
                                                        " bytes; its buffer has " +
                                                        std::to_string(outputs[i].size));
    if (size > 0) std::memcpy(outputs[i].data, out[i].data, size);
  }
  return ACL_SUCCESS;
}

std::vector<std::int64_t> Model::current_dims(std::size_t output) {
  const std::lock_guard lock(mutex_);
  return output < current_.size() ? current_[output] : outputs_[output].dims;
}

const char* Model::original_names(const char* op) {
  const std::lock_guard lock(mutex_);
  if (!opdump_onnx_has_operator(onnx_, op)) return nullptr;
  std::string text;
  for (std::size_t i = 0; const char* name = opdump_onnx_original_name(onnx_, op, i); ++i)
    text += "[" + std::to_string(std::strlen(name)) + "]" + name;
  return texts_.insert_or_assign(op, std::move(text)).first->second.c_str();
}

ModelTable& ModelTable::instance() {
  static auto* table = new ModelTable;  // never destroyed: threads may outlive static objects
  return *table;
}

aclError ModelTable::load(const char* path, const void* data, std::size_t size, std::uint32_t* id) {
  if (!DumpControl::instance().is_initialised())
    return fail(ACL_ERROR_UNINITIALIZE, "EP0008: a model is loaded before aclInit");
  std::uint32_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = next_id_++;
  }
  std::shared_ptr<Model> model;
  if (const aclError code = Model::load(path, data, size, number, model); code != ACL_SUCCESS) return code;
  const std::lock_guard lock(mutex_);
  models_[number] = std::move(model);
  *id = number;
  return ACL_SUCCESS;
}

aclError ModelTable::unload(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  if (models_.erase(id) == 0)
    return fail(ACL_ERROR_INVALID_MODEL_ID, "EP0006: there is no model " + std::to_string(id));
  return ACL_SUCCESS;
}

std::shared_ptr<Model> ModelTable::find(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = models_.find(id);
  return found == models_.end() ? nullptr : found->second;
}

std::shared_ptr<Model> ModelTable::find_by_task(std::uint64_t task) {
  const std::lock_guard lock(mutex_);
  for (const auto& [id, model] : models_)
    if (model->find_operator(task)) return model;
  return nullptr;
}

}  // namespace opdump::acl
