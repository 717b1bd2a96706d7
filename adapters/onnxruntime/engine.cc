#include "engine.h"

#include "dtypes.h"
#include "failure.h"
#include "initializers.h"

namespace opdump::onnx {
namespace {

Handle<ort::Value> wrap(const Runtime& runtime, const Tensor& tensor, const std::string& name) {
  ort::Value* value = nullptr;
  // ONNX Runtime does not write to what it is given as an input.
  runtime.check(runtime.call().CreateTensorWithDataAsOrtValue(
                    runtime.memory(), const_cast<void*>(tensor.data), tensor.bytes, tensor.dims.data(),
                    tensor.dims.size(), tensor.element_type, &value),
                name);
  return {value, runtime.call().ReleaseValue};
}

Handle<ort::SessionOptions> make_options(const Runtime& runtime, const EngineOptions& options) {
  const ort::Functions& call = runtime.call();
  ort::SessionOptions* raw = nullptr;
  runtime.check(call.CreateSessionOptions(&raw), "ONNX Runtime");
  Handle<ort::SessionOptions> result(raw, call.ReleaseSessionOptions);
  runtime.check(call.SetSessionGraphOptimizationLevel(raw, options.level), "ONNX Runtime");
  if (options.threads > 0)
    runtime.check(call.SetIntraOpNumThreads(raw, static_cast<int>(options.threads)), "ONNX Runtime");
  if (options.returns_memory) runtime.check(call.DisableCpuMemArena(raw), "ONNX Runtime");
  if (options.rests)
    runtime.check(call.AddSessionConfigEntry(raw, "session.force_spinning_stop", "1"), "ONNX Runtime");
  if (!options.save_optimized.empty())
    runtime.check(call.SetOptimizedModelFilePath(raw, options.save_optimized.c_str()),
                  options.save_optimized);
  return result;
}

// The dtype and shape of `info` into `tensor`.
void read_info(const Runtime& runtime, const ort::TensorInfo* info, int& element_type,
               std::vector<std::int64_t>& dims) {
  const ort::Functions& call = runtime.call();
  std::size_t rank = 0;
  runtime.check(call.GetTensorElementType(info, &element_type), "ONNX Runtime");
  runtime.check(call.GetDimensionsCount(info, &rank), "ONNX Runtime");
  dims.resize(rank);
  runtime.check(call.GetDimensions(info, dims.data(), rank), "ONNX Runtime");
}

Tensor take(const Runtime& runtime, ort::Value* value) {
  const ort::Functions& call = runtime.call();
  Tensor tensor;
  if (!value) {
    tensor.undumped = "no value";
    return tensor;
  }
  tensor.held.reset(new Held(Handle<ort::Value>(value, call.ReleaseValue)));
  int has_value = 0;
  runtime.check(call.HasValue(value, &has_value), "ONNX Runtime");
  ort::ValueType type = ort::kUnknown;
  if (has_value) runtime.check(call.GetValueType(value, &type), "ONNX Runtime");
  if (type != ort::kTensor) {
    tensor.undumped = has_value ? "not a tensor" : "no value";
    return tensor;
  }
  ort::TensorInfo* info = nullptr;
  runtime.check(call.GetTensorTypeAndShape(value, &info), "ONNX Runtime");
  const Handle<ort::TensorInfo> owned(info, call.ReleaseTensorTypeAndShapeInfo);
  read_info(runtime, info, tensor.element_type, tensor.dims);
  const ElementType& element = element_type(tensor.element_type);
  tensor.dtype = element.ours;
  if (element.bits == 0) {
    tensor.undumped = element.name;
    return tensor;
  }
  void* data = nullptr;
  runtime.check(call.GetTensorMutableData(value, &data), "ONNX Runtime");
  tensor.data = data;
  tensor.bytes = byte_count(element, element_count(tensor.dims, "a value"));
  tensor.content = next_content();
  return tensor;
}

std::vector<const char*> pointers(std::span<const std::string> names) {
  std::vector<const char*> result;
  for (const std::string& name : names) result.push_back(name.c_str());
  return result;
}

}  // namespace

std::uint64_t next_content() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

Engine::Engine(const Runtime& runtime, std::string_view model, const EngineOptions& options)
    : runtime_(runtime), session_(nullptr, nullptr) {
  const ort::Functions& call = runtime.call();
  const Handle<ort::SessionOptions> settings = make_options(runtime, options);
  std::vector<Handle<ort::Value>> values;
  std::vector<const ort::Value*> raw;
  for (std::size_t i = 0; i < options.external.size(); ++i) {
    values.push_back(wrap(runtime, *options.external[i], options.external_names[i]));
    raw.push_back(values.back().get());
  }
  if (!raw.empty())
    runtime.check(call.AddExternalInitializers(settings.get(), pointers(options.external_names).data(),
                                               raw.data(), raw.size()),
                  "ONNX Runtime");
  ort::Session* session = nullptr;
  runtime.check(
      call.CreateSessionFromArray(runtime.env(), model.data(), model.size(), settings.get(), &session),
      "ONNX Runtime " + runtime.version() + " does not accept the model");
  session_ = {session, call.ReleaseSession};
}

std::vector<ExpectedOutput> Engine::find_outputs() const {
  const ort::Functions& call = runtime_.call();
  std::size_t count = 0;
  runtime_.check(call.SessionGetOutputCount(session_.get(), &count), "ONNX Runtime");
  std::vector<ExpectedOutput> outputs(count);
  for (std::size_t i = 0; i < count; ++i) {
    ExpectedOutput& output = outputs[i];
    char* name = nullptr;
    runtime_.check(call.SessionGetOutputName(session_.get(), i, runtime_.allocator(), &name), "ONNX Runtime");
    output.name = name;
    runtime_.check(call.AllocatorFree(runtime_.allocator(), name), "ONNX Runtime");
    ort::TypeInfo* type = nullptr;
    runtime_.check(call.SessionGetOutputTypeInfo(session_.get(), i, &type), "ONNX Runtime");
    const Handle<ort::TypeInfo> owned(type, call.ReleaseTypeInfo);
    const ort::TensorInfo* info = nullptr;
    runtime_.check(call.CastTypeInfoToTensorInfo(type, &info), "ONNX Runtime");
    if (!info) continue;
    output.is_tensor = true;
    read_info(runtime_, info, output.element_type, output.dims);
    std::vector<const char*> names(output.dims.size());
    runtime_.check(call.GetSymbolicDimensions(info, names.data(), names.size()), "ONNX Runtime");
    output.dim_names.assign(names.begin(), names.end());
  }
  return outputs;
}

std::vector<Tensor> Engine::run(std::span<const std::string> input_names,
                                std::span<const Tensor* const> inputs,
                                std::span<const std::string> outputs) const {
  std::vector<Handle<ort::Value>> values;
  std::vector<const ort::Value*> raw;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]->held) values.push_back(wrap(runtime_, *inputs[i], "input " + input_names[i]));
    raw.push_back(inputs[i]->held ? inputs[i]->held->get() : values.back().get());
  }
  std::vector<ort::Value*> results(outputs.size(), nullptr);
  runtime_.check(runtime_.call().Run(session_.get(), nullptr, pointers(input_names).data(), raw.data(),
                                     raw.size(), pointers(outputs).data(), outputs.size(), results.data()),
                 "ONNX Runtime");
  std::vector<Tensor> tensors;
  tensors.reserve(results.size());
  for (ort::Value* result : results) tensors.push_back(take(runtime_, result));
  return tensors;
}

}  // namespace opdump::onnx
