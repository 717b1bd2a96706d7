#include <acl/acl.h>
#include <acl/acl_dump.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace fs = std::filesystem;

std::string recent() {
  const char* text = aclGetRecentErrMsg();
  return text ? text : "";
}

std::string write_file(const std::string& name, const std::string& text) {
  const std::string path = (fs::temp_directory_path() / name).string();
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// aclInit without a dump, for as long as it lives.
class Initialised : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS); }
  void TearDown() override { EXPECT_EQ(aclFinalize(), ACL_SUCCESS); }
};

TEST(AclBase, HalvesAreWhatTheyAre) {
  for (int bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<aclFloat16>(bits);
    const float value = aclFloat16ToFloat(half);
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(aclFloat16ToFloat(aclFloatToFloat16(value))));
    else
      EXPECT_EQ(aclFloatToFloat16(value), half) << value;
  }
  EXPECT_EQ(aclFloat16ToFloat(0x3c00), 1.0F);
  EXPECT_EQ(aclFloat16ToFloat(0x0001), 0x1p-24F);
  EXPECT_EQ(aclFloat16ToFloat(0xfbff), -65504.0F);
  EXPECT_EQ(aclFloatToFloat16(65520.0F), 0x7c00) << "half way to the next one: infinity";
  EXPECT_EQ(aclFloatToFloat16(65519.0F), 0x7bff);
  EXPECT_EQ(aclFloatToFloat16(1.0F + 0x1p-11F), 0x3c00) << "ties go to even";
  EXPECT_EQ(aclFloatToFloat16(1.0F + 3 * 0x1p-11F), 0x3c02);
  EXPECT_EQ(aclFloatToFloat16(0x1p-26F), 0);
}

TEST(AclBase, BuffersAndDescriptions) {
  char memory[8];
  aclDataBuffer* buffer = aclCreateDataBuffer(memory, sizeof memory);
  EXPECT_EQ(aclGetDataBufferAddr(buffer), memory);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), 8u);
  EXPECT_EQ(aclUpdateDataBuffer(buffer, memory + 4, 4), ACL_SUCCESS);
  EXPECT_EQ(aclGetDataBufferSize(buffer), 4u);
  EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
  EXPECT_EQ(aclDestroyDataBuffer(nullptr), ACL_ERROR_INVALID_PARAM);

  const std::int64_t dims[] = {2, 3, 5};
  aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT16, 3, dims, ACL_FORMAT_ND);
  EXPECT_EQ(aclGetTensorDescType(desc), ACL_FLOAT16);
  EXPECT_EQ(aclGetTensorDescSize(desc), 60u);
  EXPECT_EQ(aclGetTensorDescElementCount(desc), 30u);
  EXPECT_EQ(aclGetTensorDescNumDims(desc), 3u);
  EXPECT_EQ(aclGetTensorDescDim(desc, 2), 5);
  std::int64_t size = 0;
  EXPECT_EQ(aclGetTensorDescDimV2(desc, 1, &size), ACL_SUCCESS);
  EXPECT_EQ(size, 3);
  EXPECT_EQ(aclGetTensorDescDimV2(desc, 3, &size), ACL_ERROR_INVALID_PARAM);
  aclDestroyTensorDesc(desc);
  EXPECT_EQ(aclCreateTensorDesc(ACL_FLOAT, 1, nullptr, ACL_FORMAT_ND), nullptr);
  EXPECT_EQ(aclDataTypeSize(ACL_DOUBLE), 8u);
  EXPECT_EQ(aclDataTypeSize(ACL_DT_UNDEFINED), 0u);
}

TEST(AclRuntime, MemoryAndDevices) {
  void* memory = nullptr;
  EXPECT_EQ(aclrtMalloc(&memory, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclrtMalloc(&memory, 16, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemset(memory, 16, 7, 16), ACL_SUCCESS);
  char copy[16];
  EXPECT_EQ(aclrtMemcpy(copy, sizeof copy, memory, 16, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(copy[15], 7);
  EXPECT_EQ(aclrtMemcpy(copy, 8, memory, 16, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemcpy(nullptr, 8, memory, 8, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtFree(memory), ACL_SUCCESS);
  EXPECT_EQ(aclrtFree(nullptr), ACL_ERROR_INVALID_PARAM);

  EXPECT_EQ(aclrtSetDevice(-1), ACL_ERROR_INVALID_DEVICE);
  EXPECT_EQ(aclrtSetDevice(3), ACL_SUCCESS);
  std::int32_t device = -1;
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 3);
  aclrtContext context = nullptr;
  EXPECT_EQ(aclrtCreateContext(&context, 5), ACL_SUCCESS);
  EXPECT_EQ(aclrtGetDevice(&device), ACL_SUCCESS);
  EXPECT_EQ(device, 5);
  EXPECT_EQ(aclrtDestroyContext(context), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(3), ACL_SUCCESS);
}

TEST(AclRuntime, CallbacksRunInTheThreadThatSubscribed) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  const auto count = [](void* data) { ++*static_cast<int*>(data); };
  int called = 0;
  EXPECT_EQ(aclrtLaunchCallback(count, &called, ACL_CALLBACK_NO_BLOCK, stream),
            ACL_ERROR_STREAM_NOT_SUBSCRIBE);
  EXPECT_EQ(aclrtProcessReport(0), ACL_ERROR_THREAD_NOT_SUBSCRIBE);
  const auto self = static_cast<std::uint64_t>(pthread_self());
  EXPECT_EQ(aclrtSubscribeReport(self, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtSubscribeReport(self, stream), ACL_ERROR_REPEAT_SUBSCRIBE);
  EXPECT_EQ(aclrtProcessReport(1), ACL_ERROR_WAIT_CALLBACK_TIMEOUT);
  std::thread([&] { aclrtLaunchCallback(count, &called, ACL_CALLBACK_NO_BLOCK, stream); }).join();
  EXPECT_EQ(aclrtProcessReport(1000), ACL_SUCCESS);
  EXPECT_EQ(called, 1);
  EXPECT_EQ(aclrtUnSubscribeReport(self, stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

TEST(AclRuntime, EventsMeasureTime) {
  aclrtEvent first = nullptr, second = nullptr;
  aclrtCreateEvent(&first);
  aclrtCreateEvent(&second);
  float ms = -1;
  EXPECT_EQ(aclrtEventElapsedTime(&ms, first, second), ACL_ERROR_INVALID_PARAM);
  aclrtRecordEvent(first, nullptr);
  aclrtRecordEvent(second, nullptr);
  EXPECT_EQ(aclrtEventElapsedTime(&ms, first, second), ACL_SUCCESS);
  EXPECT_GE(ms, 0);
  aclrtDestroyEvent(first);
  aclrtDestroyEvent(second);
}

// cann.md 1.7.
TEST(AclDump, TheOrderOfCallsIsHeld) {
  EXPECT_EQ(aclmdlInitDump(), ACL_ERROR_UNINITIALIZE);
  EXPECT_EQ(aclmdlSetDump("acl.json"), ACL_ERROR_UNINITIALIZE);
  EXPECT_EQ(aclmdlFinalizeDump(), ACL_ERROR_UNINITIALIZE);
  EXPECT_EQ(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  EXPECT_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
  EXPECT_EQ(recent(), "EP0008: aclInit is called a second time");
  EXPECT_EQ(recent(), "") << "a text is given out once";
  EXPECT_EQ(aclmdlSetDump("acl.json"), ACL_ERROR_DUMP_NOT_RUN);
  EXPECT_EQ(aclmdlFinalizeDump(), ACL_ERROR_DUMP_NOT_RUN);
  EXPECT_EQ(aclmdlInitDump(), ACL_SUCCESS);
  EXPECT_EQ(aclmdlInitDump(), ACL_ERROR_REPEAT_INITIALIZE);
  EXPECT_EQ(aclmdlSetDump(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlFinalizeDump(), ACL_SUCCESS);
  EXPECT_EQ(aclmdlInitDump(), ACL_SUCCESS) << "again";
  EXPECT_EQ(aclmdlFinalizeDump(), ACL_SUCCESS);
  EXPECT_EQ(acldumpGetPath(DATA_DUMP), nullptr);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

TEST_F(Initialised, CallbacksAreChecked) {
  EXPECT_EQ(acldumpRegCallback(nullptr, 0), ACL_ERROR_FAILURE);
  EXPECT_EQ(recent().substr(0, 7), "EP0007:");
  const auto callback = [](const acldumpChunk*, std::int32_t) -> std::int32_t { return 0; };
  EXPECT_EQ(acldumpRegCallback(callback, 1), ACL_ERROR_FAILURE);
  EXPECT_EQ(recent().substr(0, 7), "EP0006:");
  EXPECT_EQ(acldumpRegCallback(callback, 0), ACL_SUCCESS);
  acldumpUnregCallback();
  EXPECT_EQ(aclopStopDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS), ACL_ERROR_FAILURE);
  EXPECT_EQ(aclopStartDumpArgs(2, "."), ACL_ERROR_FAILURE);
}

TEST(AclModel, NeedsInitialisation) {
  std::uint32_t id = 0;
  EXPECT_EQ(aclmdlLoadFromFile("net.onnx", &id), ACL_ERROR_UNINITIALIZE);
}

TEST_F(Initialised, ModelsThatCannotBeLoadedSayWhy) {
  std::uint32_t id = 0;
  EXPECT_EQ(aclmdlLoadFromFile("/nowhere/net.onnx", &id), ACL_ERROR_READ_MODEL_FAILURE);
  EXPECT_EQ(aclmdlLoadFromFile(nullptr, &id), ACL_ERROR_INVALID_PARAM);
  const std::string offline = write_file("opdump_test.om", "IMOD" + std::string(100, '\0'));
  EXPECT_EQ(aclmdlLoadFromFile(offline.c_str(), &id), ACL_ERROR_PARSE_MODEL);
  EXPECT_NE(recent().find("is an offline model, made for one kind of processor"), std::string::npos);
  EXPECT_EQ(aclmdlLoadFromMem("IMODxxxx", 8, &id), ACL_ERROR_PARSE_MODEL);
  EXPECT_EQ(aclmdlLoadFromMem("nothing at all", 14, &id), ACL_ERROR_PARSE_MODEL);
  fs::remove(offline);
  EXPECT_EQ(aclmdlUnload(77), ACL_ERROR_INVALID_MODEL_ID);
  aclmdlDesc* desc = aclmdlCreateDesc();
  EXPECT_EQ(aclmdlGetDesc(desc, 77), ACL_ERROR_INVALID_MODEL_ID);
  EXPECT_EQ(aclmdlGetNumInputs(desc), 0u);
  EXPECT_EQ(aclmdlDestroyDesc(desc), ACL_SUCCESS);
  aclmdlDataset* dataset = aclmdlCreateDataset();
  EXPECT_EQ(aclmdlExecute(77, dataset, dataset), ACL_ERROR_INVALID_MODEL_ID);
  EXPECT_EQ(aclmdlExecute(77, nullptr, dataset), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclmdlDestroyDataset(dataset), ACL_SUCCESS);
  EXPECT_EQ(aclmdlCreateAndGetOpDesc(0, 0, 0, nullptr, 0, nullptr, nullptr, nullptr, nullptr),
            ACL_ERROR_INVALID_PARAM);
}

void add_value(protozero::pbf_writer& graph, protozero::pbf_tag_type tag, const std::string& name,
               const std::vector<std::int64_t>& dims) {
  protozero::pbf_writer value(graph, tag);
  value.add_string(1, name);
  protozero::pbf_writer type(value, 2), tensor(type, 1);
  tensor.add_int32(1, 1);
  protozero::pbf_writer shape(tensor, 2);
  for (const std::int64_t size : dims) {
    protozero::pbf_writer dim(shape, 1);
    if (size < 0)
      dim.add_string(2, "batch");
    else
      dim.add_int64(1, size);
  }
}

// A model of one Relu on floats; -1 leaves a dimension open.
std::string relu_model(const std::string& input, const std::vector<std::int64_t>& dims) {
  std::string bytes;
  protozero::pbf_writer model(bytes);
  model.add_int64(1, 8);
  protozero::pbf_writer(model, 8).add_int64(2, 17);
  protozero::pbf_writer graph(model, 7);
  {
    protozero::pbf_writer node(graph, 1);
    node.add_string(1, input);
    node.add_string(2, "y");
    node.add_string(3, "relu");
    node.add_string(4, "Relu");
  }
  graph.add_string(2, "small");
  add_value(graph, 11, input, dims);
  add_value(graph, 12, "y", dims);
  return bytes;
}

aclError run_model(std::uint32_t id, std::vector<float>& input, std::vector<float>& output) {
  aclmdlDataset* in = aclmdlCreateDataset();
  aclmdlDataset* out = aclmdlCreateDataset();
  aclDataBuffer* from = aclCreateDataBuffer(input.data(), input.size() * sizeof(float));
  aclDataBuffer* to = aclCreateDataBuffer(output.data(), output.size() * sizeof(float));
  aclmdlAddDatasetBuffer(in, from);
  aclmdlAddDatasetBuffer(out, to);
  const aclError code = aclmdlExecute(id, in, out);
  aclDestroyDataBuffer(from);
  aclDestroyDataBuffer(to);
  aclmdlDestroyDataset(in);
  aclmdlDestroyDataset(out);
  return code;
}

// The graph of a model is written when the recording ends, which is after the program has let go of it.
TEST(AclModel, AnUnloadedModelKeepsItsNamesInTheGraph) {
  const fs::path folder = fs::temp_directory_path() / ("opdump_acl_test." + std::to_string(::getpid()));
  fs::create_directories(folder / "dump");
  const std::string config =
      write_file("opdump_acl_test.json",
                 R"({"dump": {"dump_list": [{}], "dump_path": ")" + (folder / "dump").string() + "\"}}");
  ::setenv("DUMP_GE_GRAPH", "1", 1);
  ::setenv("ASCEND_WORK_PATH", folder.c_str(), 1);
  ASSERT_EQ(aclInit(config.c_str()), ACL_SUCCESS) << recent();
  const std::string name = "the_name_of_an_input_that_is_too_long_for_a_small_string";
  const std::string model = relu_model(name, {2});
  std::uint32_t id = 0;
  ASSERT_EQ(aclmdlLoadFromMem(model.data(), model.size(), &id), ACL_SUCCESS) << recent();
  std::vector<float> x{-1, 2}, y{0, 0};
  EXPECT_EQ(run_model(id, x, y), ACL_SUCCESS) << recent();
  EXPECT_EQ(y, (std::vector<float>{0, 2}));
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
  const std::vector<std::string> reused(64, std::string(name.size(), '?'));  // memory that was just freed
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
  ::unsetenv("DUMP_GE_GRAPH");
  ::unsetenv("ASCEND_WORK_PATH");
  std::size_t graphs = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.path().filename().string().starts_with("ge_")) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    EXPECT_NE(text.find(name), std::string::npos) << entry.path();
    ++graphs;
  }
  EXPECT_GT(graphs, 0u);
  fs::remove_all(folder);
  fs::remove(config);
}

// A dimension that the model leaves open follows from the buffer's size, and only from one that fits.
TEST_F(Initialised, ABufferThatIsTooShortForAnOpenDimensionIsRefused) {
  const std::string model = relu_model("x", {-1, 4});
  std::uint32_t id = 0;
  ASSERT_EQ(aclmdlLoadFromMem(model.data(), model.size(), &id), ACL_SUCCESS) << recent();
  std::vector<float> half(2, 1), one_and_a_half(6, 1), two(8, 1), y(8, 0), nothing;
  EXPECT_EQ(run_model(id, half, y), ACL_ERROR_MODEL_INPUT_NOT_MATCH);
  EXPECT_EQ(recent(), "input x has 8 bytes; its dimension 0 is open and not set, and one item has 16 bytes");
  EXPECT_EQ(run_model(id, one_and_a_half, y), ACL_ERROR_MODEL_INPUT_NOT_MATCH);
  EXPECT_EQ(run_model(id, nothing, y), ACL_ERROR_MODEL_INPUT_NOT_MATCH);
  EXPECT_EQ(run_model(id, two, y), ACL_SUCCESS) << recent();
  EXPECT_EQ(y, two);
  EXPECT_EQ(aclmdlUnload(id), ACL_SUCCESS);
}

// A single operator on vectors of float.
struct Vector {
  Vector(std::vector<float> numbers, std::vector<std::int64_t> shape, aclDataType type = ACL_FLOAT)
      : values(std::move(numbers)), dims(std::move(shape)) {
    desc = aclCreateTensorDesc(type, static_cast<int>(dims.size()), dims.data(), ACL_FORMAT_ND);
    buffer = aclCreateDataBuffer(values.data(), values.size() * sizeof(float));
  }
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;
  ~Vector() {
    aclDestroyTensorDesc(desc);
    aclDestroyDataBuffer(buffer);
  }
  std::vector<float> values;
  std::vector<std::int64_t> dims;
  aclTensorDesc* desc;
  aclDataBuffer* buffer;
};

aclError execute(const char* type, const std::vector<Vector*>& inputs, Vector& output,
                 aclopAttr* attributes = nullptr) {
  std::vector<aclTensorDesc*> descs;
  std::vector<aclDataBuffer*> buffers;
  for (const Vector* input : inputs) {
    descs.push_back(input->desc);
    buffers.push_back(input->buffer);
  }
  return aclopExecuteV2(type, static_cast<int>(inputs.size()), descs.data(), buffers.data(), 1, &output.desc,
                        &output.buffer, attributes, nullptr);
}

TEST_F(Initialised, SingleOperators) {
  Vector a({1, 2, 3, 4}, {2, 2}), b({10, 20, 30, 40}, {2, 2}), y({0, 0, 0, 0}, {2, 2});
  ASSERT_EQ(execute("Add", {&a, &b}, y), ACL_SUCCESS) << recent();
  EXPECT_EQ(y.values, (std::vector<float>{11, 22, 33, 44}));
  ASSERT_EQ(execute("RealDiv", {&b, &a}, y), ACL_SUCCESS) << recent();
  EXPECT_EQ(y.values, (std::vector<float>{10, 10, 10, 10}));
  ASSERT_EQ(execute("MatMulV2", {&a, &b}, y), ACL_SUCCESS) << recent();
  EXPECT_EQ(y.values, (std::vector<float>{70, 100, 150, 220}));
  aclopAttr* attributes = aclopCreateAttr();
  aclopSetAttrBool(attributes, "transpose_x1", 1);
  ASSERT_EQ(execute("MatMulV2", {&a, &b}, y, attributes), ACL_SUCCESS) << recent();
  EXPECT_EQ(y.values, (std::vector<float>{100, 140, 140, 200}));
  aclopDestroyAttr(attributes);
}

TEST_F(Initialised, CastAndConvolution) {
  Vector x({1, -2, 3, 70000}, {4}), y({0, 0, 0, 0}, {4}, ACL_INT32);
  aclopAttr* attributes = aclopCreateAttr();
  EXPECT_EQ(execute("Cast", {&x}, y, attributes), ACL_ERROR_OP_ATTR_NOT_MATCH);
  aclopSetAttrInt(attributes, "dst_type", ACL_INT32);
  ASSERT_EQ(execute("Cast", {&x}, y, attributes), ACL_SUCCESS) << recent();
  EXPECT_EQ(reinterpret_cast<const std::int32_t*>(y.values.data())[3], 70000);
  aclopDestroyAttr(attributes);

  Vector image({1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 1, 3, 3}), weights({1, 1, 1, 1}, {1, 1, 2, 2}),
      out({0, 0, 0, 0}, {1, 1, 2, 2});
  attributes = aclopCreateAttr();
  const std::int64_t strides[] = {1, 1, 2, 2}, pads[] = {0, 1, 0, 1};
  aclopSetAttrListInt(attributes, "strides", 4, strides);
  aclopSetAttrListInt(attributes, "pads", 4, pads);
  ASSERT_EQ(execute("Conv2D", {&image, &weights}, out, attributes), ACL_SUCCESS) << recent();
  EXPECT_EQ(out.values, (std::vector<float>{12, 9, 15, 9}));
  aclopDestroyAttr(attributes);
}

TEST_F(Initialised, OperatorsThatCannotBeExecutedSayWhy) {
  Vector a({1, 2}, {2}), y({0, 0}, {2}), small({0}, {1});
  EXPECT_EQ(execute("NoSuchOperator", {&a}, y), ACL_ERROR_OP_NOT_FOUND);
  EXPECT_NE(recent().find("operator NoSuchOperator cannot be executed here"), std::string::npos);
  EXPECT_EQ(execute("Relu", {&a}, small), ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  Vector half({0, 0}, {2}, ACL_FLOAT16);
  EXPECT_EQ(execute("Relu", {&a}, half), ACL_ERROR_OP_OUTPUT_NOT_MATCH);
  EXPECT_EQ(aclopExecuteV2(nullptr, 0, nullptr, nullptr, 1, nullptr, nullptr, nullptr, nullptr),
            ACL_ERROR_INVALID_PARAM);
}

TEST_F(Initialised, ShapesAreInferred) {
  Vector a({1, 2, 3, 4, 5, 6}, {2, 3}), b({1, 2, 3}, {3, 1});
  aclTensorDesc* inputs[] = {a.desc, b.desc};
  aclDataBuffer* buffers[] = {a.buffer, b.buffer};
  aclTensorDesc* output = aclCreateTensorDesc(ACL_DT_UNDEFINED, 0, nullptr, ACL_FORMAT_ND);
  ASSERT_EQ(aclopInferShape("MatMul", 2, inputs, buffers, 1, &output, nullptr), ACL_SUCCESS) << recent();
  EXPECT_EQ(aclGetTensorDescNumDims(output), 2u);
  EXPECT_EQ(aclGetTensorDescDim(output, 0), 2);
  EXPECT_EQ(aclGetTensorDescDim(output, 1), 1);
  EXPECT_EQ(aclGetTensorDescType(output), ACL_FLOAT);
  aclDestroyTensorDesc(output);
}

}  // namespace
