/* AscendCL from C: proves that the headers are C, and calls every function, right and wrong
 * (cann.md 1.7, 2.1, 2.2). acl_test DIGITS.onnx FAILING.onnx, in an empty directory. */
#define _GNU_SOURCE
#include <acl/acl.h>
#include <acl/acl_dump.h>
#include <acl/acl_op_compiler.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define CHECK(condition)                                                                              \
  do {                                                                                                \
    if (!(condition)) {                                                                               \
      const char* text_ = aclGetRecentErrMsg();                                                       \
      fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, text_ ? text_ : "no text"); \
      exit(1);                                                                                        \
    }                                                                                                 \
  } while (0)
#define OK(call) CHECK((call) == ACL_SUCCESS)

enum { kImage = 4 * 8 * 8, kScores = 4 * 10 };

static void write_text(const char* path, const char* text) {
  FILE* file = fopen(path, "w");
  CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static int contains(const char* text, const char* part) { return text && strstr(text, part) != NULL; }

/* What is wrong with files and with the order of calls. */
static void test_codes(void) {
  CHECK(aclmdlInitDump() == 100001 && aclmdlSetDump("a.json") == 100001 && aclmdlFinalizeDump() == 100001);
  CHECK(aclFinalize() == 100037);
  CHECK(aclInit("missing.json") == 100003);
  mkdir("directory", 0700);
  CHECK(aclInit("directory") == 100003);
  FILE* large = fopen("large.json", "w");
  CHECK(large && fseek(large, (10 << 20) + 1, SEEK_SET) == 0 && fputs("{}", large) >= 0 &&
        fclose(large) == 0);
  CHECK(aclInit("large.json") == 100003);
  write_text("deep.json", "{\"dump\":[[[[[[[[[[[1]]]]]]]]]]]}");
  CHECK(aclInit("deep.json") == 100006);
  static const char* const wrong[][2] = {
      {"{\"dump\": 1}", "EP0001"},
      {"{\"dump\": {\"dump_path\": \".\", \"dump_mode\": \"al\"}}", "EP0002"},
      {"{\"dump\": {\"dump_path\": \"no\", \"dump_list\": [{}]}}", "EP0003"},
      {"{", "EP0004"},
      {"{\"dump\": {\"dump_path\": \".\", \"dump_debug\": \"on\", \"dump_op_switch\": \"on\"}}", "EP0005"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    write_text("wrong.json", wrong[i][0]);
    CHECK(aclInit("wrong.json") == 100009);
    CHECK(contains(aclGetRecentErrMsg(), wrong[i][1]));
  }
  write_text("empty.json", "");
  OK(aclInit("empty.json"));
  OK(aclFinalize());
  write_text("none.json", "{}");
  OK(aclInit("none.json"));
  CHECK(aclInit(NULL) == 100002);
  CHECK(aclmdlSetDump("none.json") == 100045 && aclmdlFinalizeDump() == 100045);
  OK(aclmdlInitDump());
  CHECK(aclmdlInitDump() == 100002);
  CHECK(aclmdlSetDump(NULL) == 100000 && contains(aclGetRecentErrMsg(), "EP0007"));
  CHECK(aclmdlSetDump("missing.json") == 100003 && aclmdlSetDump("wrong.json") == 100009);
  OK(aclmdlFinalizeDump());
  OK(aclFinalize());
  CHECK(aclFinalize() == 100037);
}

static aclDataBuffer* device_buffer(size_t size) {
  void* memory = NULL;
  OK(aclrtMalloc(&memory, size, ACL_MEM_MALLOC_NORMAL_ONLY));
  OK(aclrtMemset(memory, size, 0, size));
  return aclCreateDataBuffer(memory, size);
}

static aclmdlDataset* dataset_of(aclDataBuffer* buffer) {
  aclmdlDataset* dataset = aclmdlCreateDataset();
  OK(aclmdlAddDatasetBuffer(dataset, buffer));
  CHECK(aclmdlGetDatasetNumBuffers(dataset) == 1 && aclmdlGetDatasetBuffer(dataset, 0) == buffer);
  return dataset;
}

static void free_dataset(aclmdlDataset* dataset) {
  aclDataBuffer* buffer = aclmdlGetDatasetBuffer(dataset, 0);
  OK(aclrtFree(aclGetDataBufferAddr(buffer)));
  OK(aclDestroyDataBuffer(buffer));
  OK(aclmdlDestroyDataset(dataset));
}

static void test_buffers_and_descriptions(void) {
  char memory[8];
  aclDataBuffer* buffer = aclCreateDataBuffer(memory, sizeof memory);
  CHECK(aclGetDataBufferSize(buffer) == 8 && aclGetDataBufferSizeV2(buffer) == 8);
  OK(aclUpdateDataBuffer(buffer, memory + 4, 4));
  CHECK(aclGetDataBufferAddr(buffer) == memory + 4);
  OK(aclDestroyDataBuffer(buffer));
  const int64_t dims[] = {2, 3};
  int64_t dim = 0;
  aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT16, 2, dims, ACL_FORMAT_ND);
  aclSetTensorDescName(desc, "x");
  CHECK(strcmp(aclGetTensorDescName(desc), "x") == 0 && aclGetTensorDescType(desc) == ACL_FLOAT16);
  CHECK(aclGetTensorDescFormat(desc) == ACL_FORMAT_ND && aclGetTensorDescSize(desc) == 12);
  CHECK(aclGetTensorDescElementCount(desc) == 6 && aclGetTensorDescNumDims(desc) == 2);
  CHECK(aclGetTensorDescDim(desc, 1) == 3 && aclGetTensorDescAddress(desc) == NULL);
  OK(aclGetTensorDescDimV2(desc, 0, &dim));
  CHECK(dim == 2 && aclGetTensorDescByIndex(desc, 0) == desc && aclGetTensorDescByIndex(desc, 1) == NULL);
  aclDestroyTensorDesc(desc);
  CHECK(aclDataTypeSize(ACL_BF16) == 2 && aclFloat16ToFloat(aclFloatToFloat16(0.5f)) == 0.5f);
}

static void count_call(void* data) { ++*(int*)data; }

static void test_runtime(void) {
  int32_t major = 0, minor = 0, patch = 0, device = -1;
  uint32_t count = 0;
  aclrtRunMode mode = ACL_DEVICE;
  OK(aclrtGetVersion(&major, &minor, &patch));
  CHECK(major == 1 && aclrtGetSocName() != NULL);
  OK(aclrtGetRunMode(&mode));
  CHECK(mode == ACL_HOST);
  OK(aclrtGetDeviceCount(&count));
  CHECK(count > 1 && aclrtSetDevice((int32_t)count) != ACL_SUCCESS);
  OK(aclrtSetDevice(1));
  OK(aclrtGetDevice(&device));
  CHECK(device == 1);
  aclrtContext context = NULL, now = NULL;
  OK(aclrtCreateContext(&context, 0));
  OK(aclrtSetCurrentContext(context));
  OK(aclrtGetCurrentContext(&now));
  CHECK(now == context);
  aclrtStream stream = NULL;
  OK(aclrtCreateStream(&stream));
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtSynchronizeStreamWithTimeout(stream, 1000));
  OK(aclrtSynchronizeDevice());
  aclrtStreamStatus state = ACL_STREAM_STATUS_RESERVED;
  OK(aclrtStreamQuery(stream, &state));
  CHECK(state == ACL_STREAM_STATUS_COMPLETE && aclrtStreamQuery(stream, NULL) == 100000);
  aclrtStream fast = NULL;
  OK(aclrtCreateStreamWithConfig(&fast, 0, 1));
  OK(aclrtDestroyStream(fast));
  void* host = NULL;
  char copy[4] = {0};
  OK(aclrtMallocHost(&host, 4));
  OK(aclrtMemsetAsync(host, 4, 7, 4, stream));
  OK(aclrtMemcpy(copy, 4, host, 4, ACL_MEMCPY_DEVICE_TO_HOST));
  OK(aclrtMemcpyAsync(host, 4, copy, 4, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  CHECK(copy[3] == 7 && aclrtMemcpy(copy, 3, host, 4, ACL_MEMCPY_DEVICE_TO_HOST) == 100000);
  OK(aclrtFreeHost(host));
  OK(aclrtMallocAlign32(&host, 4, ACL_MEM_MALLOC_NORMAL_ONLY));
  OK(aclrtFree(host));
  size_t available = 0, total = 0;
  OK(aclrtGetMemInfo(ACL_HBM_MEM, &available, &total));
  CHECK(available > 0 && available <= total &&
        aclrtGetMemInfo((aclrtMemAttr)99, &available, &total) == 100000);
  aclrtEvent first = NULL, second = NULL;
  float ms = -1;
  OK(aclrtCreateEvent(&first));
  OK(aclrtCreateEventWithFlag(&second, 1));
  aclrtEventStatus status = ACL_EVENT_STATUS_RESERVED;
  aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_COMPLETE;
  OK(aclrtQueryEvent(first, &status));
  OK(aclrtQueryEventStatus(first, &recorded));
  CHECK(status == ACL_EVENT_STATUS_NOT_READY && recorded == ACL_EVENT_RECORDED_STATUS_NOT_READY);
  OK(aclrtRecordEvent(first, stream));
  OK(aclrtQueryEvent(first, &status));
  OK(aclrtQueryEventStatus(first, &recorded));
  CHECK(status == ACL_EVENT_STATUS_COMPLETE && recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE);
  OK(aclrtResetEvent(first, stream));
  CHECK(aclrtEventElapsedTime(&ms, first, first) == 100000);
  OK(aclrtRecordEvent(first, stream));
  OK(aclrtRecordEvent(second, stream));
  OK(aclrtStreamWaitEvent(stream, second));
  OK(aclrtSynchronizeEvent(second));
  OK(aclrtEventElapsedTime(&ms, first, second));
  CHECK(ms >= 0);
  OK(aclrtDestroyEvent(first));
  OK(aclrtDestroyEvent(second));
  int called = 0;
  OK(aclrtSubscribeReport((uint64_t)pthread_self(), stream));
  OK(aclrtLaunchCallback(count_call, &called, ACL_CALLBACK_NO_BLOCK, stream));
  OK(aclrtProcessReport(1000));
  CHECK(called == 1);
  OK(aclrtUnSubscribeReport((uint64_t)pthread_self(), stream));
  OK(aclrtDestroyStream(stream));
  OK(aclrtDestroyContext(context));
  OK(aclrtResetDevice(1));
}

static void test_model_description(aclmdlDesc* desc) {
  aclmdlIODims dims;
  size_t index = 9;
  CHECK(aclmdlGetNumInputs(desc) == 1 && aclmdlGetNumOutputs(desc) == 1);
  CHECK(aclmdlGetInputSizeByIndex(desc, 0) == kImage * sizeof(float) &&
        aclmdlGetInputSizeByIndex(desc, 1) == 0);
  CHECK(aclmdlGetOutputSizeByIndex(desc, 0) == kScores * sizeof(float));
  OK(aclmdlGetInputDims(desc, 0, &dims));
  CHECK(dims.dimCount == 4 && dims.dims[2] == 8 && strcmp(dims.name, "data") == 0);
  OK(aclmdlGetInputDimsV2(desc, 0, &dims));
  CHECK(dims.dimCount == 4 && dims.dims[0] == 4);
  CHECK(strcmp(aclmdlGetTensorRealName(desc, "data"), "data") == 0 && !aclmdlGetTensorRealName(desc, "x"));
  aclmdlBatch batch;
  aclmdlHW hw;
  size_t gears = 9;
  OK(aclmdlGetDynamicBatch(desc, &batch));
  OK(aclmdlGetDynamicHW(desc, 0, &hw));
  OK(aclmdlGetInputDynamicGearCount(desc, (size_t)-1, &gears));
  OK(aclmdlGetInputDynamicDims(desc, (size_t)-1, &dims, 0));
  CHECK(batch.batchCount == 0 && hw.hwCount == 0 && gears == 0 &&
        aclmdlGetDynamicBatch(desc, NULL) == 100000);
  OK(aclmdlGetOutputDims(desc, 0, &dims));
  OK(aclmdlGetCurOutputDims(desc, 0, &dims));
  CHECK(dims.dimCount == 2 && dims.dims[1] == 10);
  CHECK(strcmp(aclmdlGetInputNameByIndex(desc, 0), "data") == 0);
  const char* output = aclmdlGetOutputNameByIndex(desc, 0);
  CHECK(aclmdlGetInputFormat(desc, 0) == ACL_FORMAT_NCHW && aclmdlGetOutputFormat(desc, 0) == ACL_FORMAT_ND);
  CHECK(aclmdlGetInputDataType(desc, 0) == ACL_FLOAT && aclmdlGetOutputDataType(desc, 0) == ACL_FLOAT);
  OK(aclmdlGetInputIndexByName(desc, "data", &index));
  CHECK(index == 0);
  OK(aclmdlGetOutputIndexByName(desc, output, &index));
  CHECK(aclmdlGetInputIndexByName(desc, "nothing", &index) == 100000);
  CHECK(strcmp(aclmdlGetOpAttr(desc, "/1/Relu", "_datadump_original_op_names"), "") == 0);
  CHECK(aclmdlGetOpAttr(desc, "nothing", "_datadump_original_op_names") == NULL);
}

/* By the number in the names of dump files. */
static void test_op_description(void) {
  char name[64];
  aclTensorDesc *inputs = NULL, *outputs = NULL;
  size_t input_count = 0, output_count = 0;
  uint32_t task = 0;
  for (name[0] = '\0'; strcmp(name, "/0/Conv") != 0;) { /* models that are unloaded have had tasks too */
    CHECK(++task < 1000);
    aclDestroyTensorDesc(inputs);
    aclDestroyTensorDesc(outputs);
    inputs = outputs = NULL;
    aclmdlCreateAndGetOpDesc(0, 0, task, name, sizeof name, &inputs, &input_count, &outputs, &output_count);
  }
  CHECK(input_count == 3 && output_count == 1);
  CHECK(aclGetTensorDescNumDims(aclGetTensorDescByIndex(inputs, 0)) == 4);
  CHECK(aclGetTensorDescDim(aclGetTensorDescByIndex(inputs, 0), 3) == 8);
  CHECK(aclGetTensorDescNumDims(aclGetTensorDescByIndex(inputs, 2)) == 1);
  CHECK(aclGetTensorDescType(outputs) == ACL_FLOAT && aclGetTensorDescDim(outputs, 0) == 4);
  aclDestroyTensorDesc(inputs);
  aclDestroyTensorDesc(outputs);
  CHECK(aclmdlCreateAndGetOpDesc(0, 0, task, name, 3, &inputs, &input_count, &outputs, &output_count) ==
        100000);
  CHECK(aclmdlCreateAndGetOpDesc(0, 0, 100000, name, 64, &inputs, &input_count, &outputs, &output_count) ==
        100000);
  CHECK(aclmdlCreateAndGetOpDesc(0, 1, task, name, 64, &inputs, &input_count, &outputs, &output_count) ==
        100000);
  CHECK(aclmdlCreateAndGetOpDesc(0, 0, task, NULL, 64, &inputs, &input_count, &outputs, &output_count) ==
        100000);
}

static void load_in_all_ways(const char* path) {
  size_t work = 0, weights = 0;
  uint32_t id = 0;
  OK(aclmdlQuerySize(path, &work, &weights));
  OK(aclmdlLoadFromFileWithMem(path, &id, NULL, work, NULL, weights));
  OK(aclmdlUnload(id));
  FILE* file = fopen(path, "rb");
  CHECK(file && fseek(file, 0, SEEK_END) == 0);
  const size_t size = (size_t)ftell(file);
  char* bytes = malloc(size);
  rewind(file);
  CHECK(bytes && fread(bytes, 1, size, file) == size && fclose(file) == 0);
  OK(aclmdlQuerySizeFromMem(bytes, size, &work, &weights));
  OK(aclmdlLoadFromMem(bytes, size, &id));
  OK(aclmdlUnload(id));
  OK(aclmdlLoadFromMemWithMem(bytes, size, &id, NULL, 0, NULL, 0));
  OK(aclmdlUnload(id));
  aclmdlConfigHandle* handle = aclmdlCreateConfigHandle();
  const int32_t priority = 1;
  size_t type = ACL_MDL_LOAD_FROM_FILE;
  CHECK(aclmdlLoadWithConfig(handle, &id) == 100000);
  OK(aclmdlSetConfigOpt(handle, ACL_MDL_PRIORITY_INT32, &priority, sizeof priority));
  OK(aclmdlSetConfigOpt(handle, ACL_MDL_LOAD_TYPE_SIZET, &type, sizeof type));
  CHECK(aclmdlLoadWithConfig(handle, &id) == 100000); /* there is no path */
  OK(aclmdlSetConfigOpt(handle, ACL_MDL_PATH_PTR, &path, sizeof path));
  OK(aclmdlLoadWithConfig(handle, &id));
  OK(aclmdlUnload(id));
  type = ACL_MDL_LOAD_FROM_MEM_WITH_MEM;
  OK(aclmdlSetConfigOpt(handle, ACL_MDL_LOAD_TYPE_SIZET, &type, sizeof type));
  OK(aclmdlSetConfigOpt(handle, ACL_MDL_MEM_ADDR_PTR, &bytes, sizeof bytes));
  OK(aclmdlSetConfigOpt(handle, ACL_MDL_MEM_SIZET, &size, sizeof size));
  OK(aclmdlLoadWithConfig(handle, &id));
  OK(aclmdlUnload(id));
  type = ACL_MDL_LOAD_FROM_FILE_WITH_Q;
  OK(aclmdlSetConfigOpt(handle, ACL_MDL_LOAD_TYPE_SIZET, &type, sizeof type));
  CHECK(aclmdlLoadWithConfig(handle, &id) == 200001);
  CHECK(aclmdlSetConfigOpt(handle, ACL_MDL_MEM_SIZET, &size, 4) == 100000 &&
        aclmdlSetConfigOpt(handle, (aclmdlConfigAttr)99, &size, sizeof size) == 100000);
  OK(aclmdlDestroyConfigHandle(handle));
  CHECK(aclmdlUnload(id) == 100011 && aclmdlLoadFromFile("missing.onnx", &id) == 100014);
  free(bytes);
}

static void test_models(const char* path) {
  load_in_all_ways(path);
  uint32_t id = 0;
  OK(aclmdlLoadFromFile(path, &id));
  aclmdlDesc* desc = aclmdlCreateDesc();
  CHECK(aclmdlGetDesc(desc, id + 1) == 100011);
  OK(aclmdlGetDesc(desc, id));
  test_model_description(desc);
  test_op_description();
  aclmdlDataset* input = dataset_of(device_buffer(kImage * sizeof(float)));
  aclmdlDataset* output = dataset_of(device_buffer(kScores * sizeof(float)));
  CHECK(!aclmdlGetDatasetTensorDesc(output, 0));
  OK(aclmdlExecute(id, input, output));
  aclTensorDesc* result = aclmdlGetDatasetTensorDesc(output, 0);
  CHECK(aclGetTensorDescNumDims(result) == 2 && aclGetTensorDescDim(result, 1) == 10);
  OK(aclmdlExecuteAsync(id, input, output, NULL));
  CHECK(aclmdlExecute(id + 1, input, output) == 100011 && aclmdlExecute(id, NULL, output) == 100000);
  const int64_t dims[] = {4, 1, 8, 8};
  aclTensorDesc* shape = aclCreateTensorDesc(ACL_FLOAT, 4, dims, ACL_FORMAT_NCHW);
  OK(aclmdlSetDatasetTensorDesc(input, shape, 0));
  aclDestroyTensorDesc(shape);
  aclmdlIODims all = {"", 4, {4, 1, 8, 8}};
  CHECK(aclmdlSetDynamicBatchSize(id, input, 0, 4) == 100019);
  CHECK(aclmdlSetDynamicHWSize(id, input, 0, 8, 8) == 100019);
  CHECK(aclmdlSetInputDynamicDims(id, input, 0, &all) == 100019);
  aclmdlDataset* empty = aclmdlCreateDataset();
  CHECK(aclmdlExecute(id, empty, output) == 100017 && aclmdlExecute(id, input, empty) == 100018);
  OK(aclmdlDestroyDataset(empty));
  free_dataset(input);
  free_dataset(output);
  OK(aclmdlDestroyDesc(desc));
  OK(aclmdlUnload(id));
}

static void test_attributes(void) {
  const int64_t ints[] = {0, 1};
  const float floats[] = {0.5f};
  const uint8_t bools[] = {1, 0};
  const char* strings[] = {"a", "b"};
  aclopAttr* attr = aclopCreateAttr();
  OK(aclopSetAttrBool(attr, "bool", 1));
  OK(aclopSetAttrInt(attr, "int", 1));
  OK(aclopSetAttrFloat(attr, "float", 0.5f));
  OK(aclopSetAttrString(attr, "string", "s"));
  OK(aclopSetAttrDataType(attr, "type", ACL_INT32));
  OK(aclopSetAttrListInt(attr, "ints", 2, ints));
  OK(aclopSetAttrListFloat(attr, "floats", 1, floats));
  OK(aclopSetAttrListBool(attr, "bools", 2, bools));
  OK(aclopSetAttrListString(attr, "strings", 2, strings));
  CHECK(aclopSetAttrListString(attr, "strings", 1, NULL) == 100000 &&
        aclopSetAttrInt(NULL, "int", 1) == 100000);
  aclopDestroyAttr(attr);
}

static void test_single_operators(void) {
  float x[] = {1, 4}, y[] = {0, 0};
  const int64_t dims[] = {2};
  aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT, 1, dims, ACL_FORMAT_ND);
  aclTensorDesc* inferred = aclCreateTensorDesc(ACL_DT_UNDEFINED, 0, NULL, ACL_FORMAT_ND);
  aclDataBuffer *in = aclCreateDataBuffer(x, sizeof x), *out = aclCreateDataBuffer(y, sizeof y);
  const aclTensorDesc* const descs[] = {desc};
  const aclDataBuffer* const ins[] = {in};
  aclDataBuffer* const outs[] = {out};
  OK(aclopSetModelDir("models"));
  OK(aclopInferShape("Sqrt", 1, &desc, &in, 1, &inferred, NULL));
  CHECK(aclGetTensorDescDim(inferred, 0) == 2);
  mkdir("arguments", 0700);
  CHECK(aclopStartDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS, NULL) == 500001 &&
        aclopStartDumpArgs(2, "arguments") == 500001);
  CHECK(aclopStopDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS) == 500001);
  OK(aclopStartDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS, "arguments"));
  CHECK(aclopStartDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS, "arguments") == 500001);
  CHECK(contains(acldumpGetPath(DATA_DUMP), "/arguments"));
  OK(aclopExecuteV2("Sqrt", 1, &desc, &in, 1, &desc, &out, NULL, NULL));
  OK(aclopStopDumpArgs(ACL_OP_DUMP_OP_AICORE_ARGS));
  CHECK(y[1] == 2);
  OK(aclopCompileAndExecute("Sqrt", 1, descs, ins, 1, descs, outs, NULL, ACL_ENGINE_SYS, ACL_COMPILE_SYS,
                            NULL, NULL));
  OK(aclopCompileAndExecuteV2("Neg", 1, &desc, &in, 1, &desc, &out, NULL, ACL_ENGINE_SYS, ACL_COMPILE_SYS,
                              NULL, NULL));
  CHECK(y[1] == -4);
  CHECK(aclopExecuteV2("NoSuchOperator", 1, &desc, &in, 1, &desc, &out, NULL, NULL) == 100024);
  OK(aclDestroyDataBuffer(in));
  OK(aclDestroyDataBuffer(out));
  aclDestroyTensorDesc(desc);
  aclDestroyTensorDesc(inferred);
}

static void test_handles(void) {
  float x[] = {1.5f, 4}, y[] = {0, 0};
  int32_t whole[] = {0, 0};
  const int64_t dims[] = {2};
  aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT, 1, dims, ACL_FORMAT_ND);
  aclTensorDesc* int_desc = aclCreateTensorDesc(ACL_INT32, 1, dims, ACL_FORMAT_ND);
  const aclTensorDesc* const descs[] = {desc};
  aclDataBuffer *in = aclCreateDataBuffer(x, sizeof x), *out = aclCreateDataBuffer(y, sizeof y);
  aclDataBuffer* int_out = aclCreateDataBuffer(whole, sizeof whole);
  const aclDataBuffer* const ins[] = {in};
  aclDataBuffer *outs[] = {out}, *int_outs[] = {int_out};
  aclopHandle* handle = NULL;
  CHECK(aclopCreateHandle("NoSuchOperator", 1, descs, 1, descs, NULL, &handle) == 100024);
  CHECK(aclopCreateHandle("Neg", 1, descs, 1, descs, NULL, NULL) == 100000);
  OK(aclopCreateHandle("Neg", 1, descs, 1, descs, NULL, &handle));
  for (int i = 0; i < 2; ++i) {
    y[0] = 0;
    OK(aclopExecWithHandle(handle, 1, ins, 1, outs, NULL));
    CHECK(y[0] == -1.5f && y[1] == -4);
  }
  CHECK(aclopExecWithHandle(handle, 0, NULL, 1, outs, NULL) == 100000);
  aclopDestroyHandle(handle);
  OK(aclopCreateHandleForCast(desc, int_desc, 0, &handle));
  OK(aclopExecWithHandle(handle, 1, ins, 1, int_outs, NULL));
  aclopDestroyHandle(handle);
  CHECK(whole[0] == 1 && whole[1] == 4);
  whole[1] = 0;
  OK(aclopCast(desc, in, int_desc, int_out, 0, NULL));
  OK(aclopExecute("Abs", 1, descs, ins, 1, descs, outs, NULL, NULL));
  CHECK(whole[1] == 4 && y[1] == 4);
  OK(aclopCompile("Abs", 1, descs, 1, descs, NULL, ACL_ENGINE_SYS, ACL_COMPILE_SYS, NULL));
  CHECK(aclopCompile("NoSuchOperator", 1, descs, 1, descs, NULL, ACL_ENGINE_SYS, ACL_COMPILE_SYS, NULL) ==
        100024);
  char mode[32];
  CHECK(aclGetCompileoptSize(ACL_PRECISION_MODE) == 0 &&
        aclGetCompileopt(ACL_PRECISION_MODE, mode, 32) == 100000);
  OK(aclSetCompileopt(ACL_PRECISION_MODE, "allow_fp32_to_fp16"));
  OK(aclGetCompileopt(ACL_PRECISION_MODE, mode, sizeof mode));
  CHECK(aclGetCompileoptSize(ACL_PRECISION_MODE) == 19 && strcmp(mode, "allow_fp32_to_fp16") == 0);
  CHECK(aclGetCompileopt(ACL_PRECISION_MODE, mode, 18) == 100000 &&
        aclSetCompileopt((aclCompileOpt)99, "") == 100000);
  OK(aclopSetCompileFlag(ACL_OP_COMPILE_FUZZ));
  OK(aclDestroyDataBuffer(in));
  OK(aclDestroyDataBuffer(out));
  OK(aclDestroyDataBuffer(int_out));
  aclDestroyTensorDesc(desc);
  aclDestroyTensorDesc(int_desc);
}

static int chunks = 0;
static int32_t take_chunk(const acldumpChunk* chunk, int32_t size) {
  CHECK((size_t)size == sizeof *chunk + chunk->bufLen && chunk->fileName[0] == '/' && chunk->offset >= -1);
  ++chunks;
  return 0;
}

static void test_callback(const char* path) {
  uint32_t id = 0;
  CHECK(acldumpRegCallback(NULL, 0) == 500001 && contains(aclGetRecentErrMsg(), "EP0007"));
  CHECK(acldumpRegCallback(take_chunk, 1) == 500001 && contains(aclGetRecentErrMsg(), "EP0006"));
  OK(aclmdlInitDump());
  OK(acldumpRegCallback(take_chunk, 0));
  OK(aclmdlLoadFromFile(path, &id));
  aclmdlDataset* input = dataset_of(device_buffer(kImage * sizeof(float)));
  aclmdlDataset* output = dataset_of(device_buffer(kScores * sizeof(float)));
  OK(aclmdlExecute(id, input, output));
  CHECK(chunks >= 7);
  acldumpUnregCallback();
  OK(aclmdlFinalizeDump());
  free_dataset(input);
  free_dataset(output);
  OK(aclmdlUnload(id));
}

/* What acldumpGetPath says, for configurations of each kind. */
static void test_paths(void) {
  mkdir("out", 0700);
  setenv("WHERE", "out", 1);
  write_text("path.json", "{\"dump\": {\"dump_path\": \"./$WHERE\", \"dump_list\": [{}]}}");
  OK(aclInit("path.json"));
  CHECK(aclmdlInitDump() == 100044);
  const char* path = acldumpGetPath(DATA_DUMP);
  CHECK(path && path[0] == '/' && strcmp(path + strlen(path) - 4, "/out") == 0);
  CHECK(acldumpGetPath(OVERFLOW_DUMP) && !acldumpGetPath(AIC_ERR_BRIEF_DUMP) &&
        !acldumpGetPath((acldumpType)9));
  char text[ACL_DUMP_MAX_FILE_PATH_LENGTH];
  CHECK(acldumpGetExceptionInfoPath(text, sizeof text) == 500001 && contains(aclGetRecentErrMsg(), "EP0008"));
  OK(aclFinalize());
  OK(aclInit(NULL));
  CHECK(!acldumpGetPath(DATA_DUMP));
  OK(aclFinalize());
}

static char failed_name[64];
static void on_failure(aclrtExceptionInfo* info) {
  aclTensorDesc *inputs = NULL, *outputs = NULL;
  size_t input_count = 0, output_count = 0;
  CHECK(aclrtGetThreadIdFromExceptionInfo(info) != 0xFFFFFFFF &&
        aclrtGetErrorCodeFromExceptionInfo(info) == 500002);
  OK(aclmdlCreateAndGetOpDesc(aclrtGetDeviceIdFromExceptionInfo(info),
                              aclrtGetStreamIdFromExceptionInfo(info), aclrtGetTaskIdFromExceptionInfo(info),
                              failed_name, sizeof failed_name, &inputs, &input_count, &outputs,
                              &output_count));
  CHECK(input_count == 2 && aclGetTensorDescType(aclGetTensorDescByIndex(inputs, 1)) == ACL_INT64);
  aclDestroyTensorDesc(inputs);
  aclDestroyTensorDesc(outputs);
}

static void execute_failing(const char* path) {
  uint32_t id = 0;
  OK(aclmdlLoadFromFile(path, &id));
  aclmdlDataset* input = dataset_of(device_buffer(5 * sizeof(float)));
  aclDataBuffer* shape = device_buffer(2 * sizeof(int64_t));
  ((int64_t*)aclGetDataBufferAddr(shape))[0] = 2;
  ((int64_t*)aclGetDataBufferAddr(shape))[1] = 3;
  OK(aclmdlAddDatasetBuffer(input, shape));
  aclmdlDataset* output = dataset_of(device_buffer(100));
  OK(aclrtSetExceptionInfoCallback(on_failure));
  CHECK(aclmdlExecute(id, input, output) == 500002);
  CHECK(strcmp(failed_name, "reshape") == 0);
  OK(aclrtSetExceptionInfoCallback(NULL));
  OK(aclrtFree(aclGetDataBufferAddr(shape)));
  OK(aclDestroyDataBuffer(shape));
  free_dataset(input);
  free_dataset(output);
  OK(aclmdlUnload(id));
}

static void test_save(void) {
  int64_t data[] = {1, 2, 3, 4, 5, 6};
  acldumpTensorInfo tensor = {ACL_DUMP_TENSOR_INPUT,
                              16,
                              ACL_FORMAT_ND,
                              ACL_INT64,
                              data,
                              ACL_DUMP_ADDR_RAW,
                              ACL_DUMP_PLACEMENT_DEVICE,
                              0,
                              1,
                              1,
                              {2},
                              {2}};
  acldumpTensorInfo both[] = {tensor, tensor, tensor};
  both[0].type = ACL_DUMP_TENSOR_WORKSPACE;
  both[1].type = ACL_DUMP_TENSOR_OUTPUT;
  both[1].tensorAddr = data + 2;
  both[2].tensorAddr = data + 4;
  OK(acldumpSaveExceptionInfo("mine/info", "a tag", both, 3));
  CHECK(acldumpSaveExceptionInfo(NULL, NULL, &tensor, 1) == 100000 &&
        contains(aclGetRecentErrMsg(), "EP0007"));
  static const char* const names[] = {"", "../info", "a/../../info", "/tmp/info", "a/"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    CHECK(acldumpSaveExceptionInfo(names[i], NULL, &tensor, 1) == 100000 &&
          contains(aclGetRecentErrMsg(), "EP0006"));
  CHECK(acldumpSaveExceptionInfo("info", NULL, NULL, 1) == 100000);
  CHECK(acldumpSaveExceptionInfo("info", NULL, &tensor, 0) == 100000);
  acldumpTensorInfo wrong = tensor;
  wrong.shapeNum = ACL_DUMP_MAX_SHAPE_NUM + 1;
  CHECK(acldumpSaveExceptionInfo("info", NULL, &wrong, 1) == 100000 &&
        contains(aclGetRecentErrMsg(), "at most 25"));
  wrong = tensor, wrong.originShapeNum = ACL_DUMP_MAX_SHAPE_NUM + 1;
  CHECK(acldumpSaveExceptionInfo("info", NULL, &wrong, 1) == 100000);
  wrong = tensor, wrong.tensorAddr = NULL;
  CHECK(acldumpSaveExceptionInfo("info", NULL, &wrong, 1) == 100000 &&
        contains(aclGetRecentErrMsg(), "EP0007"));
  wrong = tensor, wrong.tensorSize = 0;
  CHECK(acldumpSaveExceptionInfo("info", NULL, &wrong, 1) == 100000);
  wrong = tensor, wrong.addrType = ACL_DUMP_ADDR_PTR;
  CHECK(acldumpSaveExceptionInfo("info", NULL, &wrong, 1) == 100000);
  wrong = tensor, wrong.placement = ACL_DUMP_PLACEMENT_HOST;
  CHECK(acldumpSaveExceptionInfo("info", NULL, &wrong, 1) == 100000);
  wrong = tensor, wrong.type = (acldumpTensorType)3;
  CHECK(acldumpSaveExceptionInfo("info", NULL, &wrong, 1) == 100000);
}

static void test_exceptions(const char* failing) {
  mkdir("errors", 0700);
  write_text("errors.json", "{\"dump\": {\"dump_path\": \"errors\", \"dump_scene\": \"aic_err_norm_dump\"}}");
  OK(aclInit("errors.json"));
  OK(aclrtSetDevice(2));
  char path[ACL_DUMP_MAX_FILE_PATH_LENGTH];
  OK(acldumpGetExceptionInfoPath(path, sizeof path));
  CHECK(path[0] == '/' && contains(path, "/errors/extra-info/data-dump/2/"));
  CHECK(strcmp(acldumpGetPath(AIC_ERR_NORM_DUMP), path) == 0 && !acldumpGetPath(DATA_DUMP));
  CHECK(acldumpGetExceptionInfoPath(NULL, 10) == 100000 && acldumpGetExceptionInfoPath(path, 1) == 100000);
  CHECK(acldumpGetExceptionInfoPath(path, 10) == 100000 && contains(aclGetRecentErrMsg(), "the path needs"));
  execute_failing(failing);
  test_save();
  OK(aclmdlInitDump()); /* an exception dump does not exclude another */
  OK(aclmdlFinalizeDump());
  OK(acldumpGetExceptionInfoPath(path, sizeof path));
  OK(aclFinalize());
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  test_codes();
  test_buffers_and_descriptions();
  test_runtime();
  OK(aclInit(NULL));
  test_attributes();
  test_models(argv[1]);
  test_single_operators();
  test_handles();
  ACL_APP_LOG(ACL_INFO, "not written");
  ACL_APP_LOG(ACL_ERROR, "%d tests were called", 6);
  aclAppLog(ACL_ERROR, NULL, __FILE__, __LINE__, "not written");
  test_callback(argv[1]);
  acldumpTensorInfo none;
  memset(&none, 0, sizeof none);
  CHECK(acldumpSaveExceptionInfo("info", NULL, &none, 1) == 500001);
  OK(aclFinalize());
  test_paths();
  test_exceptions(argv[2]);
  return 0;
}
