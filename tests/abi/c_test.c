/* The C header from C: proves that it is C, and calls every function on a small recording. */
#define _GNU_SOURCE
#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "opdump/opdump.h"
#include "opdump/opdump_h5.h"
#include "opdump/opdump_read.h"

#undef NDEBUG
#define CHECK(condition)                                                                        \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, opdump_last_error()); \
      exit(1);                                                                                  \
    }                                                                                           \
  } while (0)

static char log_text[4096];
static int retained = 0;

static void keep_log(void* user, int level, const char* line) {
  (void)user, (void)level;
  strncat(log_text, line, sizeof log_text - strlen(log_text) - 2);
  strcat(log_text, "\n");
}
static void retain(void* owner) { __atomic_fetch_add((int*)owner, 1, __ATOMIC_SEQ_CST); }
static void release(void* owner) { __atomic_fetch_sub((int*)owner, 1, __ATOMIC_SEQ_CST); }

static void write_config(const char* path, const char* text) {
  FILE* file = fopen(path, "w");
  CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static opdump_tensor make_tensor(uint32_t index, const int64_t* shape, uint32_t rank, const float* data) {
  opdump_tensor tensor = {0};
  tensor.size = sizeof tensor;
  tensor.dtype = OPDUMP_FLOAT32;
  tensor.rank = rank;
  tensor.index = index;
  tensor.shape = shape;
  tensor.data = data;
  return tensor;
}

static void test_wrong_calls(const char* directory) {
  opdump_session* session = NULL;
  opdump_options options = {0};
  CHECK(opdump_open(NULL, &session) == OPDUMP_ERROR_ARGUMENT);
  options.size = sizeof options;
  CHECK(opdump_open(&options, &session) == OPDUMP_OK && session == NULL); /* without `opdump run` */
  options.config_path = "/nonexistent/data_dump.json";
  CHECK(opdump_open(&options, &session) == OPDUMP_ERROR_CONFIG && session == NULL);
  CHECK(opdump_last_error_code() == 0);
  CHECK(strstr(opdump_last_error(), "/nonexistent/data_dump.json"));
  char path[512];
  snprintf(path, sizeof path, "%s/bad.json", directory);
  write_config(path, "{\n \"common_dump_settings\": {\"dump_mode\": 7}, \"e2e_dump_settings\": {}}");
  options.config_path = path;
  CHECK(opdump_open(&options, &session) == OPDUMP_ERROR_CONFIG);
  CHECK(strstr(opdump_last_error(), "bad.json:2:"));

  CHECK(opdump_close(NULL) == OPDUMP_OK && opdump_flush(NULL) == OPDUMP_OK);
  CHECK(opdump_rest(NULL) == OPDUMP_OK);
  opdump_mark_step(NULL, OPDUMP_STEP_TAIL);
  CHECK(strcmp(opdump_directory(NULL), "") == 0);
  CHECK(!opdump_define(NULL, NULL) && !opdump_wants(NULL, NULL) && !opdump_begin(NULL, NULL, NULL, 0));
  CHECK(!opdump_set_step(NULL, 0) && !opdump_selects_step(NULL, 0));
  opdump_end(NULL, NULL, NULL, 0, 0);
  opdump_before_write(NULL, NULL, 0);
  opdump_report_unseen(NULL, NULL, NULL);
  opdump_abandon(NULL);
  opdump_set_arguments(NULL, NULL, NULL, 0);
  opdump_set_parts(NULL, NULL, NULL, NULL, 0);
  opdump_set_dump(NULL, NULL, 1);
}

/* What a careless engine may say: nothing of it is dumped, and nothing of it does harm. */
static void test_odd_arguments(opdump_session* session, const opdump_op_info* like) {
  const int64_t shape[] = {-1, 1LL << 62}, one[] = {1};
  const float x[] = {1};
  opdump_op_info info = *like;
  info.name = "Default/Odd-op1";
  info.phase = 77;
  const opdump_op* op = opdump_define(session, &info);
  CHECK(op);
  info.size = 4;
  CHECK(!opdump_define(session, &info));
  CHECK(opdump_device_statistics(session) == 0 && opdump_device_statistics(NULL) == 0);
  opdump_tensor odd[] = {make_tensor(0, NULL, 3, x), make_tensor(1, shape, 2, x),
                         make_tensor(2, shape + 1, 1, NULL), make_tensor(3, one, 1, x)};
  odd[3].dtype = 256 + OPDUMP_FLOAT32;
  opdump_call* call = opdump_begin(session, op, odd, 4);
  CHECK(call);
  opdump_end(session, call, NULL, 2, 0);
  odd[0] = make_tensor(0, one, 1, x);
  odd[0].size = 0;
  opdump_end(session, opdump_begin(session, op, odd, 1), NULL, 0, 0);
}

/* An engine built with a longer struct than this library knows. */
static void test_longer_struct(opdump_session* session, const opdump_op_info* like) {
  struct {
    opdump_tensor tensor;
    double later;
  } tensors[2];
  const int64_t one[] = {1};
  const float x[] = {4}, y[] = {5};
  opdump_op_info info = *like;
  info.name = "Default/Later-op2";
  tensors[0].tensor = make_tensor(0, one, 1, x);
  tensors[1].tensor = make_tensor(1, one, 1, y);
  tensors[0].tensor.size = tensors[1].tensor.size = sizeof tensors[0];
  opdump_call* call = opdump_begin(session, opdump_define(session, &info), &tensors[0].tensor, 2);
  CHECK(call);
  opdump_end(session, call, NULL, 0, 0);
}

static void test_recording(const char* directory) {
  char path[512], text[2048];
  snprintf(path, sizeof path, "%s/data_dump.json", directory);
  snprintf(text, sizeof text,
           "{\"common_dump_settings\": {\"dump_mode\": 0, \"path\": \"%s/dump\", \"net_name\": \"net\", "
           "\"iteration\": \"1\","
           " \"input_output\": 0, \"kernels\": [], \"support_device\": [0], \"saved_data\": \"full\"},"
           " \"e2e_dump_settings\": {\"enable\": true}}",
           directory);
  write_config(path, text);
  opdump_options options = {0};
  options.size = sizeof options;
  options.config_path = path;
  options.runtime = "c_test";
  options.log = keep_log;
  options.retain = retain;
  options.release = release;
  opdump_session* session = NULL;
  CHECK(opdump_open(&options, &session) == OPDUMP_OK);
  CHECK(!opdump_selects_step(session, 0) && opdump_selects_step(session, 1));

  opdump_op_info info = {0};
  info.size = sizeof info;
  info.type = "Add";
  info.name = "Default/Add-op0";
  info.source_file = "model.c";
  info.source_line = 7;
  const opdump_op* op = opdump_define(session, &info);
  CHECK(op && op == opdump_define(session, &info));
  CHECK(!opdump_wants(session, op));
  CHECK(!opdump_begin(session, op, NULL, 0));

  const int64_t shape[] = {2, 3};
  const float x[] = {1, 2, 3, 4, 5, 6}, y[] = {7, 8, 9, 10, 11, 12};
  static float big[1 << 18];
  const int64_t big_shape[] = {1 << 18};
  float z[6];
  CHECK(opdump_set_step(session, 1) && opdump_wants(session, op));
  opdump_tensor inputs[] = {make_tensor(0, shape, 2, x), make_tensor(1, shape, 2, y),
                            make_tensor(2, big_shape, 1, big)};
  inputs[2].owner = &retained;
  inputs[2].content = 5;
  opdump_call* call = opdump_begin(session, op, inputs, 3);
  CHECK(call);
  const uint64_t contents[] = {5, 0};
  opdump_before_write(session, contents, 2);
  for (int i = 0; i < 1 << 18; ++i) big[i] = 1; /* must not be seen */
  for (int i = 0; i < 6; ++i) z[i] = x[i] + y[i];
  opdump_tensor outputs[] = {make_tensor(0, shape, 2, z), make_tensor(1, shape, 2, NULL)};
  outputs[1].undumped = "sparse";
  opdump_end(session, call, outputs, 2, 0);
  test_odd_arguments(session, &info);
  test_longer_struct(session, &info);
  opdump_report_unseen(session, "a fused graph\x1b[2J", "it has no operators");
  CHECK(opdump_flush(session) == OPDUMP_OK && opdump_rest(session) == OPDUMP_OK);
  CHECK(opdump_directory(session)[0] == '/' && strstr(opdump_directory(session), "/dump"));
  CHECK(__atomic_load_n(&retained, __ATOMIC_SEQ_CST) == 0);
  opdump_mark_step(session, OPDUMP_STEP_WHOLE);
  CHECK(opdump_close(session) == OPDUMP_OK);
  CHECK(strstr(log_text, "dumped") && strstr(log_text, "a fused graph\\x1b[2J") && !strchr(log_text, 0x1b));
}

static opdump_argument make_argument(const char* name, uint32_t kind) {
  opdump_argument argument = {0};
  argument.size = sizeof argument;
  argument.name = name;
  argument.kind = kind;
  return argument;
}

/* An engine that tells its graph, with a plan that records what is flagged. */
static void test_graph(const char* directory) {
  char path[512], text[2048];
  snprintf(path, sizeof path, "%s/graph.json", directory);
  snprintf(text, sizeof text,
           "{\"common_dump_settings\": {\"dump_mode\": 2, \"path\": \"%s/graph\", \"net_name\": \"net\"},"
           " \"e2e_dump_settings\": {\"enable\": true, \"save_kernel_args\": true}}",
           directory);
  write_config(path, text);
  opdump_options options = {0};
  options.size = sizeof options;
  options.config_path = path;
  options.reports_graph = 1;
  opdump_session* session = NULL;
  CHECK(opdump_open(&options, &session) == OPDUMP_OK);
  opdump_set_dump(session, "Default/layer", 1);

  opdump_op_info info = {0};
  info.size = sizeof info;
  info.type = "Mul";
  info.name = "Default/layer/Mul-op0";
  const opdump_op* mul = opdump_define(session, &info);
  info.type = "Neg";
  info.name = "Default/Neg-op0";
  const opdump_op* neg = opdump_define(session, &info);
  CHECK(opdump_wants(session, mul) ==
        (OPDUMP_WANTS_CALL | OPDUMP_WANTS_ARGUMENTS | OPDUMP_WANTS_INPUTS | OPDUMP_WANTS_OUTPUTS));

  const int64_t shape[] = {3};
  const float x[] = {1, 2, 3}, y[] = {2, 4, 6}, z[] = {-2, -4, -6};
  opdump_tensor weight = make_tensor(0, shape, 1, x), product = make_tensor(0, shape, 1, y),
                negated = make_tensor(0, shape, 1, z);
  weight.value = 1, weight.name = "layer.weight", weight.role = OPDUMP_WEIGHT;
  product.value = 2, negated.value = 3;
  opdump_argument items[] = {make_argument(NULL, OPDUMP_ARGUMENT_INT),
                             make_argument(NULL, OPDUMP_ARGUMENT_INT)};
  items[0].integer = 4;
  opdump_argument arguments[] = {
      make_argument("self", OPDUMP_ARGUMENT_TENSOR), make_argument("other", OPDUMP_ARGUMENT_FLOAT),
      make_argument("flag", OPDUMP_ARGUMENT_BOOL),   make_argument("dims", OPDUMP_ARGUMENT_LIST),
      make_argument("kind", OPDUMP_ARGUMENT_STRING), make_argument("out", OPDUMP_ARGUMENT_NONE),
      make_argument(NULL, OPDUMP_ARGUMENT_FUNCTION), make_argument("autocast", OPDUMP_ARGUMENT_STATE)};
  arguments[6].text = "aten::mul.Tensor", arguments[7].text = "bfloat16";
  arguments[1].floating = 2.5;
  arguments[2].integer = 1;
  arguments[3].items = items, arguments[3].count = 2;
  arguments[4].text = "exact";
  opdump_call* call = opdump_begin(session, mul, &weight, 1);
  CHECK(call);
  opdump_set_arguments(session, call, arguments, 8);
  opdump_end(session, call, &product, 1, 0);
  const int64_t sizes[] = {2, 3}, place[] = {1, 2};
  const opdump_mesh mesh = {sizeof mesh, 2, sizes, place};
  opdump_part parts[] = {{sizeof *parts, 0, 0, 0, "any shard:0"}, {sizeof *parts, 1, 0, 0, "replicate sum"}};
  opdump_set_parts(session, mul, &mesh, parts, 2);
  opdump_set_parts(session, mul, &mesh, parts, 2); /* nothing new */
  opdump_end(session, opdump_begin(session, neg, &product, 1), &negated, 1, 0);
  CHECK(opdump_wants(session, mul) & OPDUMP_WANTS_ARGUMENTS);    /* they may differ from call to call */
  CHECK(!(opdump_wants(session, neg) & OPDUMP_WANTS_ARGUMENTS)); /* not recorded, and known for the graph */
  CHECK(opdump_close(session) == OPDUMP_OK);
}

/* What was added to the structs later, and engines that were built before it. */
/* A folder that has a dump: of this process's first recording. */
static void test_existing(const char* directory) {
  char text[2048];
  snprintf(text, sizeof text,
           "{\"common_dump_settings\": {\"dump_mode\": 0, \"path\": \"%s/existing\", \"net_name\": \"net\"},"
           " \"e2e_dump_settings\": {\"enable\": true}}",
           directory);
  opdump_options options = {0};
  options.size = sizeof options;
  options.config_text = text;
  opdump_session* session = NULL;
  CHECK(opdump_open(&options, &session) == OPDUMP_OK);
  opdump_close(session);
  CHECK(opdump_open(&options, &session) == OPDUMP_ERROR_EXISTS && session == NULL);
  CHECK(strstr(opdump_last_error(), "has a dump already"));
  options.size = offsetof(opdump_options, existing); /* of a caller that does not know the field */
  options.existing = OPDUMP_EXISTING_APPEND;
  CHECK(opdump_open(&options, &session) == OPDUMP_ERROR_EXISTS);
  options.size = sizeof options;
  CHECK(opdump_open(&options, &session) == OPDUMP_OK);
  opdump_close(session);
  options.existing = OPDUMP_EXISTING_REPLACE;
  CHECK(opdump_open(&options, &session) == OPDUMP_OK);
  opdump_close(session);
  options.existing = 99;
  CHECK(opdump_open(&options, &session) == OPDUMP_ERROR_ARGUMENT);
}

/* A configuration made of options. */
static void test_request(const char* directory) {
  char output[1024];
  snprintf(output, sizeof output, "%s/request", directory);
  opdump_request request = {0};
  const char* text = NULL;
  CHECK(opdump_make_config(&request, &text) == OPDUMP_ERROR_ARGUMENT && text == NULL);
  request.size = sizeof request;
  request.output = output;
  request.steps = "3-1";
  CHECK(opdump_make_config(&request, &text) == OPDUMP_ERROR_CONFIG && text == NULL);
  CHECK(strstr(opdump_last_error(), "steps is \"3-1\""));
  request.steps = NULL;
  request.budget = "1000000T";
  CHECK(opdump_make_config(&request, &text) == OPDUMP_ERROR_CONFIG && text == NULL);
  request.budget = "1M";
  request.ops = "neg";
  request.content = OPDUMP_CONTENT_STATISTICS;
  char spelled[32];
  opdump_spell_number(1e-5, spelled);
  CHECK(strcmp(spelled, "1e-05") == 0);
  opdump_spell_number(0.1 + 0.2, spelled);
  CHECK(strcmp(spelled, "0.30000000000000004") == 0);
  CHECK(opdump_make_config(&request, &text) == OPDUMP_OK && strstr(text, "\"statistic\""));
  opdump_options options = {0};
  options.size = sizeof options;
  options.config_text = text;
  opdump_session* session = NULL;
  CHECK(opdump_open(&options, &session) == OPDUMP_OK);
  CHECK(strcmp(opdump_directory(session), output) == 0);
  CHECK(opdump_selects_step(session, 0) && !opdump_selects_step(session, 1));
  CHECK(opdump_close(session) == OPDUMP_OK);
}

static void test_models(const char* directory) {
  char text[2048];
  snprintf(text, sizeof text,
           "{\"common_dump_settings\": {\"dump_mode\": 0, \"path\": \"%s/models\", \"net_name\": \"net\"},"
           " \"e2e_dump_settings\": {\"enable\": true}}",
           directory);
  opdump_options options = {0};
  options.size = offsetof(opdump_options, config_text);
  options.config_text = text;
  opdump_session* session = NULL;
  CHECK(opdump_open(&options, &session) == OPDUMP_OK && session == NULL); /* it knows no such field */
  options.size = sizeof options;
  CHECK(opdump_open(&options, &session) == OPDUMP_OK && session != NULL);
  const uint64_t outputs[] = {1};
  const opdump_graph_info graph = {sizeof graph, 0, 3, "main_graph", "resnet50", outputs, 1};
  opdump_define_graph(session, &graph);
  opdump_define_graph(session, NULL);

  const char* const originals[] = {"conv1", "relu1"};
  opdump_op_info info = {0};
  info.size = sizeof info;
  info.type = "Conv";
  info.name = "conv1_relu1";
  info.graph_id = 3;
  info.task = 12;
  info.original_names = originals;
  info.original_count = 2;
  const opdump_op* fused = opdump_define(session, &info);
  info.size = offsetof(opdump_op_info, task);
  info.name = "old";
  CHECK(fused && opdump_define(session, &info));
  const int64_t shape[] = {1, 2, 1, 1};
  const float x[] = {1, 2};
  opdump_tensor tensor = make_tensor(0, shape, 4, x);
  tensor.format = 2; /* NHWC */
  opdump_end(session, opdump_begin(session, fused, &tensor, 1), NULL, 0, 0);
  CHECK(opdump_close(session) == OPDUMP_OK);
}

static void test_h5(const char* directory) {
  char path[256];
  snprintf(path, sizeof path, "%s/a.h5", directory);
  opdump_h5* file = NULL;
  CHECK(opdump_h5_create(NULL, &file) == OPDUMP_ERROR_ARGUMENT);
  CHECK(opdump_h5_create(path, &file) == OPDUMP_OK);
  const int64_t shape[] = {2, 1}, device = 10;
  const float x[] = {1, 2};
  const opdump_h5_attribute attributes[] = {{"DeviceType", 0, 1, &device}, {"Stride", 1, 2, shape}};
  opdump_h5_dataset dataset = {sizeof dataset, OPDUMP_FLOAT32, "/add/1/input/self", 2, 2, shape, x,
                               attributes};
  CHECK(opdump_h5_write(file, &dataset) == OPDUMP_OK);
  CHECK(opdump_h5_write(file, &dataset) == OPDUMP_ERROR_ARGUMENT); /* it exists */
  opdump_h5_dataset group = {sizeof group, OPDUMP_DTYPE_UNDEFINED, "/add/1/output", 0, 0, NULL, NULL, NULL};
  CHECK(opdump_h5_write(file, &group) == OPDUMP_OK);
  CHECK(opdump_h5_flush(file) == OPDUMP_OK && opdump_h5_flush(NULL) == OPDUMP_ERROR_ARGUMENT);
  CHECK(opdump_h5_lose(NULL, "x") == OPDUMP_ERROR_ARGUMENT &&
        opdump_h5_lose(file, NULL) == OPDUMP_ERROR_ARGUMENT);
  CHECK(opdump_h5_lose(file, "/mm/2: no memory") == OPDUMP_OK);
  CHECK(opdump_h5_close(file) == OPDUMP_OK);

  CHECK(opdump_h5_open(path, &file) == OPDUMP_OK);
  opdump_h5_dataset found = {sizeof found, 0, NULL, 0, 0, NULL, NULL, NULL};
  CHECK(opdump_h5_at(file, 0, &found) == OPDUMP_OK);
  CHECK(strcmp(found.path, dataset.path) == 0 && found.dtype == OPDUMP_FLOAT32 && found.rank == 2);
  CHECK(found.shape[0] == 2 && ((const float*)found.data)[1] == 2);
  CHECK(found.attribute_count == 2 && found.attributes[0].values[0] == 10 && found.attributes[1].is_list);
  CHECK(opdump_h5_at(file, 1, &found) == OPDUMP_ERROR_ARGUMENT);
  CHECK(opdump_h5_write(file, &dataset) == OPDUMP_ERROR_ARGUMENT);
  CHECK(opdump_h5_close(file) == OPDUMP_OK);
  CHECK(opdump_h5_open("/nonexistent.h5", &file) == OPDUMP_ERROR_IO && file == NULL);
  CHECK(opdump_h5_close(NULL) == OPDUMP_OK);
}

int main(void) {
  char directory[] = "/tmp/opdump_abi_XXXXXX";
  CHECK(mkdtemp(directory));
  CHECK(strlen(opdump_version()) >= 5);
  test_wrong_calls(directory);
  test_recording(directory);
  test_graph(directory);
  test_models(directory);
  test_existing(directory);
  test_request(directory);
  test_h5(directory);
  printf("%s\n", directory); /* check_abi.py reads what was written, and removes it */
  return 0;
}
