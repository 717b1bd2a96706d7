#include "nn/api_call.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "op_models.h"
#include "opdump/opdump_onnxruntime.h"

namespace opdump::acl::nn {
namespace {

bool is_floating(aclDataType type) {
  return type == ACL_FLOAT || type == ACL_FLOAT16 || type == ACL_BF16 || type == ACL_DOUBLE;
}

bool is_number(aclDataType type) {
  switch (type) {
    case ACL_INT8:
    case ACL_INT16:
    case ACL_INT32:
    case ACL_INT64:
    case ACL_UINT8:
    case ACL_UINT16:
    case ACL_UINT32:
    case ACL_UINT64:
    case ACL_BOOL:
      return true;
    default:
      return is_floating(type);
  }
}

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> next{0};
  return next++;
}

}  // namespace

ApiCall::ApiCall(const char* api) { call_.api = api; }

void ApiCall::fail_with(aclnnStatus status, const std::string& text) {
  if (!failed()) status_ = fail(status, text);
}

bool ApiCall::expect(bool condition, const std::string& text) {
  if (!condition) fail_with(kInvalid, "EP0006: " + call_.api + ": " + text);
  return condition && !failed();
}

bool ApiCall::check(const aclTensor* tensor, const char* argument) {
  if (!tensor) fail_with(kNull, "EP0007: " + call_.api + ": " + argument + " is NULL");
  if (failed()) return false;
  const bool has_memory = tensor->data || element_count(*tensor) == 0;
  return expect(has_memory, std::string(argument) + " has no memory") &&
         expect(is_number(tensor->type), std::string(argument) + " has data type " +
                                             std::to_string(tensor->type) +
                                             ", which this operator does not take");
}

Value ApiCall::feed(const aclTensor& tensor, std::size_t parameter, std::size_t index) {
  const std::string name = next_name();
  inputs_.push_back({name, tensor.type, tensor.dims});
  call_.feeds.push_back({parameter, index, false, {}});
  return {name, tensor.type, tensor.dims.size(), false};
}

Value ApiCall::read(const aclTensor* tensor, const char* argument) {
  if (!check(tensor, argument)) return {};
  call_.reads.push_back({{*tensor}});
  return feed(*tensor, call_.reads.size() - 1, 0);
}

Value ApiCall::read_optional(const aclTensor* tensor, const char* argument) {
  if (tensor) return read(tensor, argument);
  call_.reads.emplace_back();
  return {};
}

std::vector<Value> ApiCall::read(const aclTensorList* list, const char* argument) {
  if (!list) fail_with(kNull, "EP0007: " + call_.api + ": " + argument + " is NULL");
  if (failed()) return {};
  std::vector<Value> values;
  call_.reads.emplace_back();
  for (const aclTensor* tensor : list->values) {
    if (!check(tensor, argument)) return {};
    call_.reads.back().tensors.push_back(*tensor);
    values.push_back(feed(*tensor, call_.reads.size() - 1, values.size()));
  }
  expect(!values.empty(), std::string(argument) + " is empty");
  return values;
}

Value ApiCall::read(const aclScalar* scalar, const char* argument) {
  if (!scalar) fail_with(kNull, "EP0007: " + call_.api + ": " + argument + " is NULL");
  if (failed() || !expect(is_number(scalar->type), std::string(argument) + " is not a real number"))
    return {};
  const std::string name = next_name();
  inputs_.push_back({name, scalar->type, {}});
  call_.feeds.push_back({0, 0, true, *scalar});
  return {name, scalar->type, 0, true};
}

void ApiCall::write(const aclTensor* tensor, const char* argument, const Value& value) {
  if (!check(tensor, argument)) return;
  const Value result = cast(value, tensor->type);
  call_.writes.push_back({{*tensor}});
  // An output of the model must be the result of an operator.
  results_.push_back(node("Identity", {result}).name);
}

std::vector<std::int64_t> ApiCall::list(const aclIntArray* array, const char* argument) {
  if (!array) fail_with(kNull, "EP0007: " + call_.api + ": " + argument + " is NULL");
  return failed() ? std::vector<std::int64_t>{} : array->values;
}

std::vector<Value> ApiCall::node(const char* type, const std::vector<Value>& inputs, std::size_t outputs,
                                 Attributes attributes) {
  std::vector<Value> values(outputs);
  if (failed()) return values;
  OnnxNode made{type, type + ("_" + std::to_string(nodes_.size())), {}, {}, std::move(attributes)};
  for (const Value& input : inputs) made.inputs.push_back(input.name);
  for (Value& value : values) {
    value = {next_name(), inputs.empty() ? ACL_FLOAT : inputs[0].type, inputs.empty() ? 0 : inputs[0].rank,
             false};
    made.outputs.push_back(value.name);
  }
  nodes_.push_back(std::move(made));
  return values;
}

Value ApiCall::node(const char* type, const std::vector<Value>& inputs, Attributes attributes) {
  return node(type, inputs, 1, std::move(attributes))[0];
}

Value ApiCall::cast(const Value& value, aclDataType type) {
  if (value.type == type || value.name.empty()) return value;
  Value result = node("Cast", {value}, {{"to", type}});
  result.type = type;
  result.is_scalar = value.is_scalar;
  return result;
}

Value ApiCall::constant(float number, aclDataType type) {
  return cast(node("Constant", {}, {{"value_float", number}}), type);
}

Value ApiCall::constant(const std::vector<std::int64_t>& numbers) {
  Value value = node("Constant", {}, {{"value_ints", numbers}});
  value.type = ACL_INT64;
  value.rank = 1;
  return value;
}

aclDataType ApiCall::common(const std::vector<Value>& values) {
  const auto any = [&](auto&& what) { return std::ranges::any_of(values, what); };
  if (any([](const Value& value) { return !value.is_scalar && value.type == ACL_DOUBLE; })) return ACL_DOUBLE;
  return any([](const Value& value) { return is_floating(value.type); }) ? ACL_FLOAT : ACL_INT64;
}

aclDataType ApiCall::common_float(const std::vector<Value>& values) {
  return common(values) == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
}

// ONNX Runtime says what the results are, as far as it can say so before it runs.
aclnnStatus ApiCall::check_results() {
  OpModels& models = OpModels::instance();
  const std::lock_guard lock(models.mutex);
  opdump_onnx_model* model = nullptr;
  if (models.find(call_.model, call_.api, &model) != ACL_SUCCESS)
    return fail(kInvalid, "EP0006: " + call_.api + ": " + opdump_onnx_last_error());
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const auto made =
        std::ranges::find_if(nodes_, [&](const OnnxNode& node) { return node.outputs[0] == results_[i]; });
    opdump_onnx_value value{};
    value.size = sizeof value;
    if (opdump_onnx_operand(model, made->name.c_str(), 1, 0, &value) != OPDUMP_OK)
      return fail(kInvalid, "EP0006: " + call_.api + ": " + opdump_onnx_last_error());
    const aclTensor& tensor = call_.writes[i].tensors[0];
    const std::vector<std::int64_t> dims(value.shape, value.shape + value.rank);
    if (value.has_shape && dims != tensor.dims && !std::ranges::count(dims, -1))
      return fail(kInvalid, "EP0006: " + call_.api + ": the result has " + describe(tensor.type, dims) +
                                "; the output has " + describe(tensor.type, tensor.dims));
  }
  return ACL_SUCCESS;
}

aclnnStatus ApiCall::finish(std::uint64_t* workspace, aclOpExecutor** executor) {
  if (!workspace || !executor)
    fail_with(kNull, "EP0007: " + call_.api + ": " + (workspace ? "executor" : "workspaceSize") + " is NULL");
  if (failed()) return status_;
  {
    protozero::pbf_writer model(call_.model);
    write_versions(model);
    protozero::pbf_writer graph(model, 7);
    for (const OnnxNode& node : nodes_) write_node(graph, node);
    graph.add_string(2, call_.api);
    for (const Input& input : inputs_) write_input(graph, input.name, input.type, input.dims);
    for (const std::string& result : results_) write_output(graph, result);
  }
  if (const aclnnStatus code = check_results(); code != ACL_SUCCESS) return code;
  call_.number = next_number();
  *workspace = 0;
  publish(std::move(call_), executor);
  return ACL_SUCCESS;
}

}  // namespace opdump::acl::nn
