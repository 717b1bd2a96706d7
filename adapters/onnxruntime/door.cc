// The C door: check, call, translate. The one place where exceptions end.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <system_error>
#include <type_traits>

#include "dtypes.h"
#include "failure.h"
#include "network.h"
#include "opdump/opdump_onnxruntime.h"

using opdump::onnx::Failure;
using opdump::onnx::NamedValue;
using opdump::onnx::Network;
using opdump::onnx::Tensor;

namespace {

// What opdump_onnx_value points into.
struct ValueText {
  std::string name;
  std::vector<std::string> dim_names;
  std::vector<const char*> dim_pointers;
};

}  // namespace

struct opdump_onnx_model {
  std::unique_ptr<Network> network;
  std::vector<ValueText> inputs, outputs;
  std::vector<Tensor> results;
  opdump::onnx::ExpectedOutput operand;  // that opdump_onnx_operand() gave out
  std::vector<const char*> operand_dim_names;
};

namespace {

thread_local std::string last_error;

template <typename F>
opdump_status guarded(const std::string& what, F&& body) noexcept {
  try {
    body();
    return OPDUMP_OK;
  } catch (const Failure& failure) {
    last_error = what.empty() ? failure.what() : what + ": " + failure.what();
    return failure.status();
  } catch (const std::exception& error) {  // of the standard library: out of memory
    last_error = what + ": " + error.what();
    return OPDUMP_ERROR_INTERNAL;
  }
}

std::string read_file(const std::string& path) {
  std::error_code error;  // opening a pipe would wait for ever
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    throw Failure("not a regular file", OPDUMP_ERROR_IO);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw Failure(std::strerror(errno), OPDUMP_ERROR_IO);
  const std::streamoff size = file.tellg();
  constexpr std::streamoff kMost = std::streamoff{1} << 31;  // of any protobuf message
  if (size < 0 || size >= kMost) throw Failure("larger than any ONNX model, or not a file", OPDUMP_ERROR_IO);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  file.seekg(0);
  file.read(bytes.data(), size);
  if (!file) throw Failure("cannot be read", OPDUMP_ERROR_IO);
  return bytes;
}

// "512M", "2G": as OPDUMP_MEMORY_LIMIT is written.
std::uint64_t memory_limit(std::uint64_t given) {
  if (given != 0) return given;
  const char* text = std::getenv("OPDUMP_MEMORY_LIMIT");
  if (!text || !*text) return std::uint64_t{1} << 30;
  char* end = nullptr;
  const double number = std::strtod(text, &end);
  constexpr std::array<std::pair<char, int>, 4> kUnits{{{'K', 10}, {'M', 20}, {'G', 30}, {'T', 40}}};
  int shift = 0;
  for (const auto& [letter, bits] : kUnits)
    if (*end == letter || *end == letter + ('a' - 'A')) shift = bits;
  if (end == text || !(number > 0) || number > 1e15)
    throw Failure("OPDUMP_MEMORY_LIMIT is '" + std::string(text) + "'; expected a size such as 512M or 2G",
                  OPDUMP_ERROR_CONFIG);
  return static_cast<std::uint64_t>(number * static_cast<double>(std::uint64_t{1} << shift));
}

ValueText text_of(const NamedValue& value) {
  ValueText text{std::string(value.name), {value.dim_names.begin(), value.dim_names.end()}, {}};
  return text;
}

void point(std::vector<ValueText>& texts) {
  for (ValueText& text : texts)
    for (const std::string& name : text.dim_names) text.dim_pointers.push_back(name.c_str());
}

void load(const opdump_onnx_options& options, opdump_onnx_model** model) {
  opdump::onnx::NetworkOptions network;
  if (options.path) network.folder = std::filesystem::absolute(options.path).parent_path();
  if (!options.data) network.file_name = std::filesystem::path(options.path).stem().string();
  network.as_executed = options.as_executed != 0;
  if (options.operator_type) network.operator_type = options.operator_type;
  network.graph_id = options.graph_id;
  network.threads = options.threads;
  network.memory_limit_bytes = memory_limit(options.memory_limit_bytes);
  if (options.log)
    network.log = [log = options.log, user = options.log_user](int level, const std::string& line) {
      log(user, level, line.c_str());
    };
  std::string bytes = options.data ? std::string(static_cast<const char*>(options.data), options.byte_count)
                                   : read_file(options.path);
  auto loaded = std::make_unique<opdump_onnx_model>();
  loaded->network = std::make_unique<Network>(std::move(bytes), std::move(network));
  for (const NamedValue& value : loaded->network->file().inputs) loaded->inputs.push_back(text_of(value));
  for (const NamedValue& value : loaded->network->file().outputs) loaded->outputs.push_back(text_of(value));
  point(loaded->inputs);
  point(loaded->outputs);
  *model = loaded.release();
}

opdump_status describe(const std::vector<NamedValue>& values, const std::vector<ValueText>& texts,
                       std::size_t index, opdump_onnx_value* to) {
  if (index >= values.size() || !to || to->size < sizeof(opdump_onnx_value)) {
    last_error = "there is no value " + std::to_string(index);
    return OPDUMP_ERROR_ARGUMENT;
  }
  to->dtype = values[index].is_tensor ? opdump::onnx::element_type(values[index].element_type).ours
                                      : static_cast<std::uint32_t>(OPDUMP_DTYPE_UNDEFINED);
  to->name = texts[index].name.c_str();
  to->rank = static_cast<std::uint32_t>(values[index].dims.size());
  to->has_shape = values[index].has_shape;
  to->shape = values[index].dims.data();
  to->dim_names = texts[index].dim_pointers.data();
  return OPDUMP_OK;
}

Tensor to_tensor(const opdump_tensor& from) {
  Tensor tensor;
  tensor.dtype = from.dtype;
  tensor.element_type = opdump::onnx::onnx_number(from.dtype);
  tensor.dims.assign(from.shape, from.shape + from.rank);
  tensor.data = from.data;
  tensor.bytes = opdump::onnx::byte_count(opdump::onnx::element_type(tensor.element_type),
                                          opdump::onnx::element_count(tensor.dims, "an input"));
  return tensor;
}

// The i-th of an array of the caller's, whose struct may be that of another version: the first one says how
// large it is, or nothing before the struct had grown.
template <typename T>
T* at(T* tensors, std::size_t i) {
  const std::size_t size = tensors->size != 0 ? tensors->size : offsetof(opdump_tensor, original_rank);
  using Byte = std::conditional_t<std::is_const_v<T>, const std::byte, std::byte>;
  return reinterpret_cast<T*>(reinterpret_cast<Byte*>(tensors) + i * size);
}

// Fills as much of `to` as the caller has. All that there is to say was in the struct from the beginning.
void give(const Tensor& from, std::size_t index, opdump_tensor& to) {
  const std::uint32_t size = to.size;
  opdump_tensor tensor{};
  tensor.size = size;
  tensor.index = static_cast<std::uint32_t>(index);
  tensor.dtype = from.dtype;
  tensor.rank = static_cast<std::uint32_t>(from.dims.size());
  tensor.shape = from.dims.data();
  tensor.data = from.data;
  tensor.undumped = from.undumped;
  const std::size_t own = size != 0 ? size : offsetof(opdump_tensor, original_rank);
  std::memcpy(&to, &tensor, std::min(own, sizeof tensor));
}

opdump::onnx::Held* held(void* owner) { return static_cast<opdump::onnx::Held*>(owner); }

}  // namespace

const char* opdump_onnx_last_error(void) { return last_error.c_str(); }

const char* opdump_onnx_runtime_version(void) {
  const char* version = nullptr;
  guarded("", [&] { version = opdump::onnx::Runtime::load().version().c_str(); });
  return version;
}

void opdump_onnx_prepare(opdump_options* options) {
  static const std::string* const runtime = [] {
    const char* version = opdump_onnx_runtime_version();
    return new std::string(std::string("onnxruntime ") + (version ? version : "missing"));
  }();
  options->runtime = runtime->c_str();
  options->retain = [](void* owner) { held(owner)->add(); };
  options->release = [](void* owner) { held(owner)->drop(); };
}

opdump_status opdump_onnx_load(const opdump_onnx_options* options, opdump_onnx_model** model) {
  if (!options || !model || options->size < sizeof(opdump_onnx_options) ||
      (!options->path && !options->data)) {
    last_error = "opdump_onnx_load: options (with its size, and path or data) and model must not be NULL";
    return OPDUMP_ERROR_ARGUMENT;
  }
  return guarded(options->path ? options->path : "the model", [&] { load(*options, model); });
}

void opdump_onnx_unload(opdump_onnx_model* model) { delete model; }

size_t opdump_onnx_input_count(const opdump_onnx_model* model) { return model->inputs.size(); }
size_t opdump_onnx_output_count(const opdump_onnx_model* model) { return model->outputs.size(); }

opdump_status opdump_onnx_input(const opdump_onnx_model* model, size_t index, opdump_onnx_value* value) {
  return describe(model->network->file().inputs, model->inputs, index, value);
}

opdump_status opdump_onnx_output(const opdump_onnx_model* model, size_t index, opdump_onnx_value* value) {
  return describe(model->network->file().outputs, model->outputs, index, value);
}

size_t opdump_onnx_operator_count(const opdump_onnx_model* model) {
  return model->network->file().nodes.size() + opdump_onnx_inner_operator_count(model);
}

size_t opdump_onnx_inner_operator_count(const opdump_onnx_model* model) {
  size_t count = 0;
  for (const opdump::onnx::Node& node : model->network->file().nodes) count += node.inner_count;
  return count;
}

int opdump_onnx_has_operator(const opdump_onnx_model* model, const char* name) {
  return model->network->find_node(name).has_value();
}

void opdump_onnx_number_tasks(opdump_onnx_model* model, uint64_t first) {
  model->network->number_tasks(first);
}

const char* opdump_onnx_operator_name(const opdump_onnx_model* model, size_t index) {
  const auto& nodes = model->network->file().nodes;
  return index < nodes.size() ? nodes[index].name.c_str() : nullptr;
}

size_t opdump_onnx_operand_count(const opdump_onnx_model* model, const char* name, int is_output) {
  const auto node = model->network->find_node(name);
  if (!node) return 0;
  const opdump::onnx::Node& op = model->network->file().nodes[*node];
  return is_output ? op.outputs.size() : op.inputs.size();
}

opdump_status opdump_onnx_operand(opdump_onnx_model* model, const char* name, int is_output, size_t index,
                                  opdump_onnx_value* value) {
  return guarded("", [&] {
    const auto node = name ? model->network->find_node(name) : std::nullopt;
    if (!node || !value || value->size < sizeof(opdump_onnx_value))
      throw Failure("opdump_onnx_operand: there is no such operator, or value is NULL");
    const opdump::onnx::Node& op = model->network->file().nodes[*node];
    const auto& names = is_output ? op.outputs : op.inputs;
    if (index >= names.size()) throw Failure("operator " + op.name + " has fewer operands");
    const std::string_view operand = names[index];
    model->operand = operand.empty() ? opdump::onnx::ExpectedOutput{} : model->network->find_type(operand);
    opdump::onnx::ExpectedOutput& found = model->operand;
    found.name = operand;
    found.dim_names.resize(found.dims.size());
    model->operand_dim_names.clear();
    for (const std::string& dim : found.dim_names) model->operand_dim_names.push_back(dim.c_str());
    *value = {.size = value->size,
              .dtype = found.is_tensor ? opdump::onnx::element_type(found.element_type).ours
                                       : static_cast<std::uint32_t>(OPDUMP_DTYPE_UNDEFINED),
              .name = found.name.c_str(),
              .rank = static_cast<std::uint32_t>(found.dims.size()),
              .has_shape = found.is_tensor,
              .shape = found.dims.data(),
              .dim_names = model->operand_dim_names.data()};
  });
}

const char* opdump_onnx_failed_operator(const opdump_onnx_model* model) {
  const auto failed = model->network->failed_node();
  return failed ? opdump_onnx_operator_name(model, *failed) : nullptr;
}

const char* opdump_onnx_original_name(const opdump_onnx_model* model, const char* name, size_t index) {
  const auto node = model->network->find_node(name);
  if (!node) return nullptr;
  const auto names = model->network->original_names(*node);
  return index < names.size() ? names[index].c_str() : nullptr;
}

opdump_status opdump_onnx_run(opdump_onnx_model* model, opdump_session* session, const opdump_tensor* inputs,
                              size_t input_count, opdump_tensor* outputs, size_t output_count) {
  return guarded("", [&] {
    if (!model || (input_count > 0 && !inputs) || output_count != model->outputs.size())
      throw Failure("opdump_onnx_run: a NULL, or not as many outputs as the model has");
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < input_count; ++i) tensors.push_back(to_tensor(*at(inputs, i)));
    model->results = model->network->run(session, tensors);
    for (size_t i = 0; i < output_count; ++i) give(model->results[i], i, *at(outputs, i));
  });
}
