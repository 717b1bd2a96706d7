// acl_op.h and acl_op_compiler.h: single operators, each executed as a model of one operator.
#include <acl/acl_op_compiler.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "dump_control.h"
#include "failure.h"
#include "op_graph.h"
#include "op_models.h"
#include "opdump/opdump_onnxruntime.h"
#include "runtime.h"

using opdump::acl::fail;
using opdump::acl::fail_null;
using opdump::acl::guarded;

struct aclopHandle {
  std::string type;
  std::vector<aclTensorDesc> inputs, outputs;
  std::unique_ptr<aclopAttr> attributes;
};

namespace {

struct Call {
  opdump::acl::OpCall op;
  std::vector<const aclDataBuffer*> inputs;
};

aclError make_call(const char* type, int input_count, const aclTensorDesc* const* input_descs,
                   const aclDataBuffer* const* inputs, int output_count, const aclopAttr* attributes,
                   Call& call) {
  if (!type) return fail_null("a single operator", "opType");
  if (input_count < 0 || output_count <= 0 || (input_count > 0 && (!input_descs || !inputs)))
    return fail(ACL_ERROR_INVALID_PARAM,
                std::string("EP0006: operator ") + type + ": wrong number of inputs or outputs");
  call.op.type = type;
  call.op.output_count = static_cast<std::size_t>(output_count);
  call.op.attributes = attributes;
  for (int i = 0; i < input_count; ++i) {
    if (!input_descs[i] || !inputs[i]) return fail_null(type, "an input");
    if (aclGetTensorDescSize(input_descs[i]) > inputs[i]->size)
      return fail(ACL_ERROR_OP_INPUT_NOT_MATCH, std::string("EP0006: operator ") + type + ": input " +
                                                    std::to_string(i) + " is larger than its buffer");
    call.op.inputs.push_back(input_descs[i]);
    call.inputs.push_back(inputs[i]);
  }
  return ACL_SUCCESS;
}

// Runs the operator; `receive` gets each output with its number.
template <typename F>
aclError run(const Call& call, bool is_dumped, F&& receive) {
  std::string bytes;
  if (const aclError code = make_op_model(call.op, bytes); code != ACL_SUCCESS) return code;
  opdump::acl::OpModels& models = opdump::acl::OpModels::instance();
  const std::lock_guard lock(models.mutex);
  opdump_onnx_model* model = nullptr;
  if (const aclError code = models.find(bytes, call.op.type, &model); code != ACL_SUCCESS) return code;
  std::vector<opdump_tensor> in(call.inputs.size()), out(call.op.output_count);
  for (opdump_tensor& tensor : out) tensor.size = sizeof tensor;
  for (std::size_t i = 0; i < in.size(); ++i) {
    in[i].size = sizeof in[i];
    in[i].dtype = opdump::acl::data_type(call.op.inputs[i]->type).ours;
    in[i].rank = static_cast<std::uint32_t>(call.op.inputs[i]->dims.size());
    in[i].shape = call.op.inputs[i]->dims.data();
    in[i].data = call.inputs[i]->data;
  }
  const auto execute = [&](opdump_session* session) {
    return opdump_onnx_run(model, session, in.data(), in.size(), out.data(), out.size());
  };
  const auto dump = is_dumped ? opdump::acl::DumpControl::instance().current() : nullptr;
  const opdump_status status =
      dump ? dump->with_session(opdump::acl::current_device(), execute) : execute(nullptr);
  if (status != OPDUMP_OK) {
    const std::string text = opdump_onnx_last_error();
    const bool is_unknown = text.find("does not accept the model") != std::string::npos;
    return fail(is_unknown ? ACL_ERROR_OP_NOT_FOUND : ACL_ERROR_GE_FAILURE,
                "operator " + call.op.type + " cannot be executed here: " + text);
  }
  for (std::size_t i = 0; i < out.size(); ++i)
    if (const aclError code = receive(i, out[i]); code != ACL_SUCCESS) return code;
  return ACL_SUCCESS;
}

aclError check_output(const std::string& type, std::size_t index, const opdump_tensor& tensor,
                      const aclTensorDesc* desc) {
  if (!desc || desc->type == opdump::acl::acl_type(tensor.dtype)) return ACL_SUCCESS;
  return fail(ACL_ERROR_OP_OUTPUT_NOT_MATCH, "EP0006: operator " + type + ": output " +
                                                 std::to_string(index) +
                                                 " is of another data type than its description says");
}

aclError execute(const char* type, int input_count, const aclTensorDesc* const* input_descs,
                 const aclDataBuffer* const* inputs, int output_count,
                 const aclTensorDesc* const* output_descs, aclDataBuffer* const* outputs,
                 const aclopAttr* attributes) {
  Call call;
  if (const aclError code = make_call(type, input_count, input_descs, inputs, output_count, attributes, call);
      code != ACL_SUCCESS)
    return code;
  if (!outputs || !output_descs) return fail_null(type, "outputs");
  return run(call, true, [&](std::size_t i, const opdump_tensor& tensor) {
    if (!outputs[i] || !output_descs[i]) return fail_null(type, "an output");
    if (const aclError code = check_output(type, i, tensor, output_descs[i]); code != ACL_SUCCESS)
      return code;
    const std::size_t size = opdump::acl::byte_count(output_descs[i]->type, tensor.shape, tensor.rank);
    if (size > outputs[i]->size)
      return fail(ACL_ERROR_OP_OUTPUT_NOT_MATCH,
                  std::string("EP0006: operator ") + type + ": output " + std::to_string(i) + " has " +
                      std::to_string(size) + " bytes; its buffer has " + std::to_string(outputs[i]->size));
    if (size > 0) std::memcpy(outputs[i]->data, tensor.data, size);
    return ACL_SUCCESS;
  });
}

// ONNX Runtime says whether it has such an operator, for such inputs.
aclError check_executable(const char* type, int input_count, const aclTensorDesc* const* inputs,
                          int output_count, const aclopAttr* attributes) {
  if (!type) return fail_null("a single operator", "opType");
  if (input_count < 0 || output_count <= 0 || (input_count > 0 && !inputs))
    return fail(ACL_ERROR_INVALID_PARAM,
                std::string("EP0006: operator ") + type + ": wrong number of inputs or outputs");
  opdump::acl::OpCall call{type, {}, static_cast<std::size_t>(output_count), attributes};
  for (int i = 0; i < input_count; ++i) {
    if (!inputs[i]) return fail_null(type, "an input");
    call.inputs.push_back(inputs[i]);
  }
  std::string bytes;
  if (const aclError code = make_op_model(call, bytes); code != ACL_SUCCESS) return code;
  opdump::acl::OpModels& models = opdump::acl::OpModels::instance();
  const std::lock_guard lock(models.mutex);
  opdump_onnx_model* model = nullptr;
  opdump_onnx_value value{};
  value.size = sizeof value;
  if (models.find(bytes, type, &model) == ACL_SUCCESS &&
      opdump_onnx_operand(model, type, 1, 0, &value) == OPDUMP_OK)
    return ACL_SUCCESS;
  return fail(ACL_ERROR_OP_NOT_FOUND,
              std::string("operator ") + type + " cannot be executed here: " + opdump_onnx_last_error());
}

// Pointers to descriptions.
std::vector<const aclTensorDesc*> point(const std::vector<aclTensorDesc>& descs) {
  std::vector<const aclTensorDesc*> pointers;
  for (const aclTensorDesc& desc : descs) pointers.push_back(&desc);
  return pointers;
}

aclopAttr cast_attributes(const aclTensorDesc* to) { return {{{"dst_type", std::int64_t{to->type}}}}; }

// Values of aclSetCompileopt, which nothing reads but aclGetCompileopt.
class CompileOptions {
 public:
  std::mutex mutex;  // guards the rest
  std::map<aclCompileOpt, std::string> values;
};

CompileOptions& compile_options() {
  static auto* options = new CompileOptions;  // never destroyed: threads may outlive static objects
  return *options;
}

template <typename T>
aclError set(aclopAttr* attributes, const char* name, T value) {
  if (!attributes || !name) return fail_null("aclopSetAttr", attributes ? "attrName" : "attr");
  return guarded([&] {
    attributes->values[name] = std::move(value);
    return ACL_SUCCESS;
  });
}

}  // namespace

aclError aclopSetModelDir(const char* directory) {
  return directory ? ACL_SUCCESS : fail_null("aclopSetModelDir", "modelDir");
}

aclopAttr* aclopCreateAttr(void) { return new (std::nothrow) aclopAttr; }
void aclopDestroyAttr(const aclopAttr* attributes) { delete attributes; }

aclError aclopSetAttrBool(aclopAttr* attr, const char* name, uint8_t value) {
  return set(attr, name, value != 0);
}
aclError aclopSetAttrInt(aclopAttr* attr, const char* name, int64_t value) { return set(attr, name, value); }
aclError aclopSetAttrFloat(aclopAttr* attr, const char* name, float value) { return set(attr, name, value); }
aclError aclopSetAttrString(aclopAttr* attr, const char* name, const char* value) {
  return value ? set(attr, name, std::string(value)) : fail_null("aclopSetAttrString", "attrValue");
}
aclError aclopSetAttrDataType(aclopAttr* attr, const char* name, aclDataType value) {
  return set(attr, name, value);
}
aclError aclopSetAttrListInt(aclopAttr* attr, const char* name, int count, const int64_t* values) {
  if (count < 0 || (count > 0 && !values)) return fail_null("aclopSetAttrListInt", "values");
  return set(attr, name, std::vector<std::int64_t>(values, values + count));
}
aclError aclopSetAttrListFloat(aclopAttr* attr, const char* name, int count, const float* values) {
  if (count < 0 || (count > 0 && !values)) return fail_null("aclopSetAttrListFloat", "values");
  return set(attr, name, std::vector<float>(values, values + count));
}

aclError aclopSetAttrListBool(aclopAttr* attr, const char* name, int count, const uint8_t* values) {
  if (count < 0 || (count > 0 && !values)) return fail_null("aclopSetAttrListBool", "values");
  return set(attr, name, std::vector<std::int64_t>(values, values + count));
}
aclError aclopSetAttrListString(aclopAttr* attr, const char* name, int count, const char** values) {
  if (count < 0 || (count > 0 && !values) || std::find(values, values + count, nullptr) != values + count)
    return fail_null("aclopSetAttrListString", "values");
  return set(attr, name, std::vector<std::string>(values, values + count));
}

aclError aclopExecuteV2(const char* type, int input_count, aclTensorDesc* input_descs[],
                        aclDataBuffer* inputs[], int output_count, aclTensorDesc* output_descs[],
                        aclDataBuffer* outputs[], aclopAttr* attr, aclrtStream) {
  return guarded([&] {
    return execute(type, input_count, input_descs, inputs, output_count, output_descs, outputs, attr);
  });
}

aclError aclopExecute(const char* type, int input_count, const aclTensorDesc* const input_descs[],
                      const aclDataBuffer* const inputs[], int output_count,
                      const aclTensorDesc* const output_descs[], aclDataBuffer* const outputs[],
                      const aclopAttr* attr, aclrtStream) {
  return guarded([&] {
    return execute(type, input_count, input_descs, inputs, output_count, output_descs, outputs, attr);
  });
}

aclError aclopCreateHandle(const char* type, int input_count, const aclTensorDesc* const inputs[],
                           int output_count, const aclTensorDesc* const outputs[], const aclopAttr* attr,
                           aclopHandle** handle) {
  if (!handle || (output_count > 0 && !outputs))
    return fail_null("aclopCreateHandle", handle ? "outputDesc" : "handle");
  return guarded([&] {
    if (const aclError code = check_executable(type, input_count, inputs, output_count, attr);
        code != ACL_SUCCESS)
      return code;
    auto made = std::make_unique<aclopHandle>();
    made->type = type;
    for (int i = 0; i < input_count; ++i) made->inputs.push_back(*inputs[i]);
    for (int i = 0; i < output_count; ++i) {
      if (!outputs[i]) return fail_null(type, "an output");
      made->outputs.push_back(*outputs[i]);
    }
    if (attr) made->attributes = std::make_unique<aclopAttr>(*attr);
    *handle = made.release();
    return ACL_SUCCESS;
  });
}

void aclopDestroyHandle(aclopHandle* handle) { delete handle; }

aclError aclopExecWithHandle(aclopHandle* handle, int input_count, const aclDataBuffer* const inputs[],
                             int output_count, aclDataBuffer* const outputs[], aclrtStream) {
  if (!handle) return fail_null("aclopExecWithHandle", "handle");
  return guarded([&] {
    const auto input_descs = point(handle->inputs), output_descs = point(handle->outputs);
    if (input_count != static_cast<int>(input_descs.size()) ||
        output_count != static_cast<int>(output_descs.size()))
      return fail(ACL_ERROR_INVALID_PARAM, "EP0006: operator " + handle->type +
                                               ": the handle has another number of inputs or outputs");
    return execute(handle->type.c_str(), input_count, input_descs.data(), inputs, output_count,
                   output_descs.data(), outputs, handle->attributes.get());
  });
}

aclError aclopCast(const aclTensorDesc* from, const aclDataBuffer* in, const aclTensorDesc* to,
                   aclDataBuffer* out, uint8_t, aclrtStream) {
  if (!to) return fail_null("aclopCast", "dstDesc");
  return guarded([&] {
    const aclopAttr attributes = cast_attributes(to);
    return execute("Cast", 1, &from, &in, 1, &to, &out, &attributes);
  });
}

aclError aclopCreateHandleForCast(aclTensorDesc* from, aclTensorDesc* to, uint8_t, aclopHandle** handle) {
  if (!to) return fail_null("aclopCreateHandleForCast", "dstDesc");
  return guarded([&] {
    const aclopAttr attributes = cast_attributes(to);
    return aclopCreateHandle("Cast", 1, &from, 1, &to, &attributes, handle);
  });
}

aclError aclopCompile(const char* type, int input_count, const aclTensorDesc* const inputs[],
                      int output_count, const aclTensorDesc* const[], const aclopAttr* attr, aclopEngineType,
                      aclopCompileType, const char*) {
  return guarded([&] { return check_executable(type, input_count, inputs, output_count, attr); });
}

aclError aclSetCompileopt(aclCompileOpt option, const char* value) {
  if (!value) return fail_null("aclSetCompileopt", "value");
  if (option < ACL_PRECISION_MODE || option > ACL_OP_DEBUG_OPTION)
    return fail(ACL_ERROR_INVALID_PARAM,
                "EP0006: aclSetCompileopt: there is no option " + std::to_string(option));
  return guarded([&] {
    const std::lock_guard lock(compile_options().mutex);
    compile_options().values[option] = value;
    return ACL_SUCCESS;
  });
}

size_t aclGetCompileoptSize(aclCompileOpt option) {
  const std::lock_guard lock(compile_options().mutex);
  const auto found = compile_options().values.find(option);
  return found == compile_options().values.end() ? 0 : found->second.size() + 1;
}

aclError aclGetCompileopt(aclCompileOpt option, char* value, size_t length) {
  if (!value) return fail_null("aclGetCompileopt", "value");
  const std::lock_guard lock(compile_options().mutex);
  const auto found = compile_options().values.find(option);
  if (found == compile_options().values.end() || found->second.size() >= length)
    return fail(ACL_ERROR_INVALID_PARAM,
                "EP0006: aclGetCompileopt: the option is not set, or length is too small");
  std::memcpy(value, found->second.c_str(), found->second.size() + 1);
  return ACL_SUCCESS;
}

aclError aclopSetCompileFlag(aclOpCompileFlag) { return ACL_SUCCESS; }

aclError aclopCompileAndExecute(const char* type, int input_count, const aclTensorDesc* const input_descs[],
                                const aclDataBuffer* const inputs[], int output_count,
                                const aclTensorDesc* const output_descs[], aclDataBuffer* const outputs[],
                                const aclopAttr* attr, aclopEngineType, aclopCompileType, const char*,
                                aclrtStream) {
  return guarded([&] {
    return execute(type, input_count, input_descs, inputs, output_count, output_descs, outputs, attr);
  });
}

aclError aclopCompileAndExecuteV2(const char* type, int input_count, aclTensorDesc* input_descs[],
                                  aclDataBuffer* inputs[], int output_count, aclTensorDesc* output_descs[],
                                  aclDataBuffer* outputs[], aclopAttr* attr, aclopEngineType,
                                  aclopCompileType, const char*, aclrtStream stream) {
  return aclopExecuteV2(type, input_count, input_descs, inputs, output_count, output_descs, outputs, attr,
                        stream);
}

aclError aclopInferShape(const char* type, int input_count, aclTensorDesc* input_descs[],
                         aclDataBuffer* inputs[], int output_count, aclTensorDesc* output_descs[],
                         aclopAttr* attr) {
  return guarded([&] {
    Call call;
    if (const aclError code = make_call(type, input_count, input_descs, inputs, output_count, attr, call);
        code != ACL_SUCCESS)
      return code;
    if (!output_descs) return fail_null(type, "outputDesc");
    return run(call, false, [&](std::size_t i, const opdump_tensor& tensor) {
      if (!output_descs[i]) return fail_null(type, "an output");
      output_descs[i]->type = opdump::acl::acl_type(tensor.dtype);
      output_descs[i]->dims.assign(tensor.shape, tensor.shape + tensor.rank);
      return ACL_SUCCESS;
    });
  });
}
