// acl_mdl.h: check, call, translate.
#include <acl/acl_mdl.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base.h"
#include "failure.h"
#include "model_objects.h"

using opdump::acl::Argument;
using opdump::acl::fail;
using opdump::acl::fail_null;
using opdump::acl::guarded;
using opdump::acl::Model;
using opdump::acl::ModelTable;
using opdump::acl::Port;

namespace {

// A model's working memory is ONNX Runtime's; programs ask for some and may not get nothing.
constexpr std::size_t kWorkBytes = 1 << 20;
// The buffer of the input that CANN adds to models with open dimensions.
constexpr std::size_t kDynamicInputBytes = ACL_MAX_DIM_CNT * sizeof(std::int64_t);

// One dimension that is not set follows from the size of the buffer, which must then be a multiple of the
// bytes of one.
aclError fill_open_dimension(const Port& port, Argument& input) {
  std::vector<std::int64_t>& dims = input.dims;
  const auto open = std::ranges::find_if(dims, [](std::int64_t dim) { return dim < 0; });
  if (open == dims.end() || std::count_if(dims.begin(), dims.end(), [](auto dim) { return dim < 0; }) > 1)
    return ACL_SUCCESS;
  *open = 1;
  const std::size_t one = opdump::acl::byte_count(port.type, dims.data(), dims.size());
  if (one == 0) return ACL_SUCCESS;
  if (input.size < one || input.size % one != 0)
    return fail(ACL_ERROR_MODEL_INPUT_NOT_MATCH,
                "input " + port.name + " has " + std::to_string(input.size) + " bytes; its dimension " +
                    std::to_string(open - dims.begin()) + " is open and not set, and one item has " +
                    std::to_string(one) + " bytes");
  *open = static_cast<std::int64_t>(input.size / one);
  return ACL_SUCCESS;
}

aclError find_input(const Port& port, const aclmdlDataset::Buffer& given,
                    std::vector<std::int64_t>::const_iterator& open,
                    std::vector<std::int64_t>::const_iterator end, Argument& input) {
  input = {given.buffer->data, given.buffer->size, given.desc ? given.desc->dims : port.dims};
  for (std::int64_t& dim : input.dims)
    if (dim < 0 && open != end) dim = *open++;
  if (const aclError code = fill_open_dimension(port, input); code != ACL_SUCCESS) return code;
  const std::string what = "input " + port.name;
  if (std::ranges::any_of(input.dims, [](std::int64_t dim) { return dim < 0; }) ||
      (!port.has_shape && !given.desc))
    return fail(ACL_ERROR_MODEL_INPUT_NOT_MATCH, what + " has open dimensions that are not set");
  const std::size_t needed = opdump::acl::byte_count(port.type, input.dims.data(), input.dims.size());
  if (needed > input.size)
    return fail(ACL_ERROR_MODEL_INPUT_NOT_MATCH, what + " has " + std::to_string(needed) +
                                                     " bytes; its buffer has " + std::to_string(input.size));
  return ACL_SUCCESS;
}

aclError execute(std::uint32_t id, const aclmdlDataset* input, aclmdlDataset* output) {
  if (!input || !output) return fail_null("aclmdlExecute", input ? "output" : "input");
  const std::shared_ptr<Model> model = ModelTable::instance().find(id);
  if (!model) return fail(ACL_ERROR_INVALID_MODEL_ID, "EP0006: there is no model " + std::to_string(id));
  const std::size_t count = model->inputs().size(), given = input->buffers.size();
  if (given != count && !(given == count + 1 && model->is_dynamic()))
    return fail(ACL_ERROR_MODEL_INPUT_NOT_MATCH, "the model has " + std::to_string(count) +
                                                     " inputs; the dataset has " + std::to_string(given));
  if (output->buffers.size() != model->outputs().size())
    return fail(ACL_ERROR_MODEL_OUTPUT_NOT_MATCH, "the model has " + std::to_string(model->outputs().size()) +
                                                      " outputs; the dataset has " +
                                                      std::to_string(output->buffers.size()));
  std::vector<Argument> in(count), out;
  auto open = input->open_dims.begin();
  for (std::size_t i = 0; i < count; ++i)
    if (const aclError code =
            find_input(model->inputs()[i], input->buffers[i], open, input->open_dims.end(), in[i]);
        code != ACL_SUCCESS)
      return code;
  for (const auto& given : output->buffers) out.push_back({given.buffer->data, given.buffer->size, {}});
  if (const aclError code = model->execute(in, out); code != ACL_SUCCESS) return code;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Port& port = model->outputs()[i];
    aclTensorDesc desc{port.type, port.format(), model->current_dims(i), port.name, {}};
    if (std::unique_ptr<aclTensorDesc>& known = output->buffers[i].desc)
      *known = std::move(desc);  // the program may have its address
    else
      known = std::make_unique<aclTensorDesc>(std::move(desc));
  }
  return ACL_SUCCESS;
}

aclError load(const char* function, const char* path, const void* data, std::size_t size, bool from_memory,
              std::uint32_t* id) {
  if (!id) return fail_null(function, "modelId");
  if (from_memory ? !data : !path) return fail_null(function, from_memory ? "model" : "modelPath");
  return guarded([&] { return ModelTable::instance().load(path, data, size, id); });
}

const Port* find_port(const aclmdlDesc* desc, bool is_input, std::size_t index) {
  if (!desc || !desc->model) return nullptr;
  const std::vector<Port>& ports = is_input ? desc->model->inputs() : desc->model->outputs();
  return index < ports.size() ? &ports[index] : nullptr;
}

bool is_dynamic_input(const aclmdlDesc* desc, std::size_t index) {
  return desc && desc->model && desc->model->is_dynamic() && index == desc->model->inputs().size();
}

aclError fill_dims(const aclmdlDesc* desc, const Port* port, const std::vector<std::int64_t>* dims,
                   aclmdlIODims* to) {
  if (!desc || !to) return fail_null("the dimensions of a model", desc ? "dims" : "modelDesc");
  if (!port) return fail(ACL_ERROR_INVALID_PARAM, "EP0006: the model has no such input or output");
  if (dims->size() > ACL_MAX_DIM_CNT) return fail(ACL_ERROR_INVALID_PARAM, "more than 128 dimensions");
  *to = {};
  std::strncpy(to->name, port->name.c_str(), sizeof to->name - 1);
  to->dimCount = dims->size();
  std::ranges::copy(*dims, to->dims);
  return ACL_SUCCESS;
}

aclError find_by_name(const aclmdlDesc* desc, bool is_input, const char* name, std::size_t* index) {
  if (!desc || !desc->model || !name || !index) return fail_null("an index by name", "an argument");
  const std::vector<Port>& ports = is_input ? desc->model->inputs() : desc->model->outputs();
  const auto found = std::ranges::find(ports, name, &Port::name);
  *index = static_cast<std::size_t>(found - ports.begin());
  if (found != ports.end()) return ACL_SUCCESS;
  if (is_input && desc->model->is_dynamic() && std::strcmp(name, ACL_DYNAMIC_TENSOR_NAME) == 0)
    return ACL_SUCCESS;
  return fail(ACL_ERROR_INVALID_PARAM,
              std::string("EP0006: the model has no ") + (is_input ? "input " : "output ") + name);
}

}  // namespace

aclError aclmdlQuerySize(const char* path, size_t* work, size_t* weight) {
  if (!path || !work || !weight) return fail_null("aclmdlQuerySize", path ? "a size" : "fileName");
  return guarded([&] {
    std::error_code error;
    std::filesystem::path file = path;
    if (!std::filesystem::exists(file, error)) file.replace_extension(".onnx");
    const auto size = std::filesystem::file_size(file, error);
    if (error) return fail(ACL_ERROR_READ_MODEL_FAILURE, std::string(path) + ": " + error.message());
    *work = kWorkBytes;
    *weight = std::max<std::size_t>(size, 1);
    return ACL_SUCCESS;
  });
}

aclError aclmdlQuerySizeFromMem(const void* model, size_t size, size_t* work, size_t* weight) {
  if (!model || !work || !weight) return fail_null("aclmdlQuerySizeFromMem", model ? "a size" : "model");
  *work = kWorkBytes;
  *weight = std::max<std::size_t>(size, 1);
  return ACL_SUCCESS;
}

aclError aclmdlLoadFromFile(const char* path, uint32_t* id) {
  return load("aclmdlLoadFromFile", path, nullptr, 0, false, id);
}
aclError aclmdlLoadFromFileWithMem(const char* path, uint32_t* id, void*, size_t, void*, size_t) {
  return load("aclmdlLoadFromFileWithMem", path, nullptr, 0, false, id);
}
aclError aclmdlLoadFromMem(const void* model, size_t size, uint32_t* id) {
  return load("aclmdlLoadFromMem", nullptr, model, size, true, id);
}
aclError aclmdlLoadFromMemWithMem(const void* model, size_t size, uint32_t* id, void*, size_t, void*,
                                  size_t) {
  return load("aclmdlLoadFromMemWithMem", nullptr, model, size, true, id);
}
aclmdlConfigHandle* aclmdlCreateConfigHandle(void) { return new (std::nothrow) aclmdlConfigHandle; }

aclError aclmdlDestroyConfigHandle(aclmdlConfigHandle* handle) {
  if (!handle) return fail_null("aclmdlDestroyConfigHandle", "handle");
  delete handle;
  return ACL_SUCCESS;
}

aclError aclmdlSetConfigOpt(aclmdlConfigHandle* handle, aclmdlConfigAttr attribute, const void* value,
                            size_t size) {
  if (!handle || !value) return fail_null("aclmdlSetConfigOpt", handle ? "attrValue" : "handle");
  if (attribute < ACL_MDL_PRIORITY_INT32 || attribute > ACL_MDL_WORKSPACE_MEM_OPTIMIZE)
    return fail(ACL_ERROR_INVALID_PARAM,
                "EP0006: aclmdlSetConfigOpt: there is no attribute " + std::to_string(attribute));
  const std::size_t expected = attribute == ACL_MDL_PRIORITY_INT32 ? sizeof(std::int32_t) : sizeof(void*);
  if (size != expected)
    return fail(ACL_ERROR_INVALID_PARAM, "EP0006: aclmdlSetConfigOpt: valueSize is " + std::to_string(size) +
                                             "; expected " + std::to_string(expected));
  return guarded([&] {
    const void* pointer = nullptr;
    if (size == sizeof pointer) std::memcpy(&pointer, value, size);
    if (attribute == ACL_MDL_PATH_PTR && !pointer) return fail_null("aclmdlSetConfigOpt", "the path");
    if (attribute == ACL_MDL_LOAD_TYPE_SIZET) std::memcpy(&handle->load_type, value, size);
    if (attribute == ACL_MDL_PATH_PTR) handle->path = static_cast<const char*>(pointer);
    if (attribute == ACL_MDL_MEM_ADDR_PTR) handle->memory = pointer;
    if (attribute == ACL_MDL_MEM_SIZET) std::memcpy(&handle->memory_size, value, size);
    return ACL_SUCCESS;
  });
}

aclError aclmdlLoadWithConfig(const aclmdlConfigHandle* handle, uint32_t* id) {
  if (!handle) return fail_null("aclmdlLoadWithConfig", "handle");
  switch (handle->load_type) {
    case ACL_MDL_LOAD_FROM_FILE:
    case ACL_MDL_LOAD_FROM_FILE_WITH_MEM:
      return load("aclmdlLoadWithConfig", handle->path ? handle->path->c_str() : nullptr, nullptr, 0, false,
                  id);
    case ACL_MDL_LOAD_FROM_MEM:
    case ACL_MDL_LOAD_FROM_MEM_WITH_MEM:
      return load("aclmdlLoadWithConfig", nullptr, handle->memory, handle->memory_size, true, id);
    case ACL_MDL_LOAD_FROM_FILE_WITH_Q:
    case ACL_MDL_LOAD_FROM_MEM_WITH_Q:
      return fail(ACL_ERROR_API_NOT_SUPPORT, "aclmdlLoadWithConfig: there are no queues here");
    default:
      return fail(ACL_ERROR_INVALID_PARAM,
                  "EP0006: aclmdlLoadWithConfig: ACL_MDL_LOAD_TYPE_SIZET is not set, or not 1 to 4");
  }
}

aclError aclmdlUnload(uint32_t id) {
  return guarded([&] { return ModelTable::instance().unload(id); });
}

aclmdlDesc* aclmdlCreateDesc(void) { return new (std::nothrow) aclmdlDesc; }

aclError aclmdlDestroyDesc(aclmdlDesc* desc) {
  if (!desc) return fail_null("aclmdlDestroyDesc", "modelDesc");
  delete desc;
  return ACL_SUCCESS;
}

aclError aclmdlGetDesc(aclmdlDesc* desc, uint32_t id) {
  if (!desc) return fail_null("aclmdlGetDesc", "modelDesc");
  desc->model = ModelTable::instance().find(id);
  return desc->model ? ACL_SUCCESS
                     : fail(ACL_ERROR_INVALID_MODEL_ID, "EP0006: there is no model " + std::to_string(id));
}

size_t aclmdlGetNumInputs(aclmdlDesc* desc) { return desc && desc->model ? desc->model->inputs().size() : 0; }
size_t aclmdlGetNumOutputs(aclmdlDesc* desc) {
  return desc && desc->model ? desc->model->outputs().size() : 0;
}

size_t aclmdlGetInputSizeByIndex(aclmdlDesc* desc, size_t index) {
  if (is_dynamic_input(desc, index)) return kDynamicInputBytes;
  const Port* port = find_port(desc, true, index);
  return port ? desc->model->gears().largest(*port) : 0;
}

size_t aclmdlGetOutputSizeByIndex(aclmdlDesc* desc, size_t index) {
  const Port* port = find_port(desc, false, index);
  return port ? desc->model->gears().largest(*port) : 0;
}

aclError aclmdlGetInputDims(const aclmdlDesc* desc, size_t index, aclmdlIODims* dims) {
  const Port* port = find_port(desc, true, index);
  return fill_dims(desc, port, port ? &port->dims : nullptr, dims);
}

aclError aclmdlGetInputDimsV2(const aclmdlDesc* desc, size_t index, aclmdlIODims* dims) {
  return aclmdlGetInputDims(desc, index, dims);
}

aclError aclmdlGetOutputDims(const aclmdlDesc* desc, size_t index, aclmdlIODims* dims) {
  const Port* port = find_port(desc, false, index);
  return fill_dims(desc, port, port ? &port->dims : nullptr, dims);
}

aclError aclmdlGetCurOutputDims(const aclmdlDesc* desc, size_t index, aclmdlIODims* dims) {
  return guarded([&] {
    const Port* port = find_port(desc, false, index);
    const std::vector<std::int64_t> now =
        port ? desc->model->current_dims(index) : std::vector<std::int64_t>();
    return fill_dims(desc, port, &now, dims);
  });
}

const char* aclmdlGetInputNameByIndex(const aclmdlDesc* desc, size_t index) {
  if (is_dynamic_input(desc, index)) return ACL_DYNAMIC_TENSOR_NAME;
  const Port* port = find_port(desc, true, index);
  return port ? port->name.c_str() : "";
}
const char* aclmdlGetOutputNameByIndex(const aclmdlDesc* desc, size_t index) {
  const Port* port = find_port(desc, false, index);
  return port ? port->name.c_str() : "";
}
aclFormat aclmdlGetInputFormat(const aclmdlDesc* desc, size_t index) {
  const Port* port = find_port(desc, true, index);
  return port ? port->format() : ACL_FORMAT_UNDEFINED;
}
aclFormat aclmdlGetOutputFormat(const aclmdlDesc* desc, size_t index) {
  const Port* port = find_port(desc, false, index);
  return port ? port->format() : ACL_FORMAT_UNDEFINED;
}
aclDataType aclmdlGetInputDataType(const aclmdlDesc* desc, size_t index) {
  const Port* port = find_port(desc, true, index);
  return port ? port->type : ACL_DT_UNDEFINED;
}
aclDataType aclmdlGetOutputDataType(const aclmdlDesc* desc, size_t index) {
  const Port* port = find_port(desc, false, index);
  return port ? port->type : ACL_DT_UNDEFINED;
}

aclError aclmdlGetInputIndexByName(const aclmdlDesc* desc, const char* name, size_t* index) {
  return guarded([&] { return find_by_name(desc, true, name, index); });
}
aclError aclmdlGetOutputIndexByName(const aclmdlDesc* desc, const char* name, size_t* index) {
  return guarded([&] { return find_by_name(desc, false, name, index); });
}

const char* aclmdlGetTensorRealName(const aclmdlDesc* desc, const char* name) {
  if (!desc || !desc->model || !name) return nullptr;
  for (const auto* ports : {&desc->model->inputs(), &desc->model->outputs()})
    if (const auto found = std::ranges::find(*ports, name, &Port::name); found != ports->end())
      return found->name.c_str();
  return nullptr;
}

const char* aclmdlGetOpAttr(aclmdlDesc* desc, const char* op, const char* attribute) {
  const char* result = nullptr;
  guarded([&] {
    if (!desc || !desc->model || !op || !attribute) return fail_null("aclmdlGetOpAttr", "an argument");
    result = desc->model->original_names(op);
    if (!result) return fail(ACL_ERROR_INVALID_PARAM, std::string("EP0006: the model has no operator ") + op);
    if (std::strcmp(attribute, "_datadump_original_op_names") != 0) result = "";
    return ACL_SUCCESS;
  });
  return result;
}

aclmdlDataset* aclmdlCreateDataset(void) { return new (std::nothrow) aclmdlDataset; }

aclError aclmdlDestroyDataset(const aclmdlDataset* dataset) {
  if (!dataset) return fail_null("aclmdlDestroyDataset", "dataset");
  delete dataset;
  return ACL_SUCCESS;
}

aclError aclmdlAddDatasetBuffer(aclmdlDataset* dataset, aclDataBuffer* buffer) {
  if (!dataset || !buffer) return fail_null("aclmdlAddDatasetBuffer", dataset ? "dataBuffer" : "dataset");
  return guarded([&] {
    dataset->buffers.push_back({buffer, nullptr});
    return ACL_SUCCESS;
  });
}

size_t aclmdlGetDatasetNumBuffers(const aclmdlDataset* dataset) {
  return dataset ? dataset->buffers.size() : 0;
}

aclDataBuffer* aclmdlGetDatasetBuffer(const aclmdlDataset* dataset, size_t index) {
  return dataset && index < dataset->buffers.size() ? dataset->buffers[index].buffer : nullptr;
}

aclTensorDesc* aclmdlGetDatasetTensorDesc(const aclmdlDataset* dataset, size_t index) {
  return dataset && index < dataset->buffers.size() ? dataset->buffers[index].desc.get() : nullptr;
}

aclError aclmdlSetDatasetTensorDesc(aclmdlDataset* dataset, aclTensorDesc* desc, size_t index) {
  if (!dataset || !desc) return fail_null("aclmdlSetDatasetTensorDesc", dataset ? "tensorDesc" : "dataset");
  if (index >= dataset->buffers.size())
    return fail(ACL_ERROR_INVALID_PARAM, "EP0006: the dataset has no buffer " + std::to_string(index));
  return guarded([&] {
    dataset->buffers[index].desc = std::make_unique<aclTensorDesc>(*desc);
    return ACL_SUCCESS;
  });
}

aclError aclmdlExecute(uint32_t id, const aclmdlDataset* input, aclmdlDataset* output) {
  return guarded([&] { return execute(id, input, output); });
}

aclError aclmdlExecuteAsync(uint32_t id, const aclmdlDataset* input, aclmdlDataset* output, aclrtStream) {
  return guarded([&] { return execute(id, input, output); });
}
