/* An engine of its own that `opdump run` records: it gives no configuration.
 * Usage: engine [STEPS [FAULT_STEP [PAUSE_MS]]]. In FAULT_STEP the factor is another one, and stays so. */
#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "opdump/opdump.h"

enum { kWidth = 1000 };
static const int64_t kShape[] = {kWidth};

static const opdump_op* define(opdump_session* session, const char* type, const char* name) {
  opdump_op_info info = {0};
  info.size = sizeof info;
  info.type = type;
  info.name = name;
  info.graph_id = OPDUMP_NO_GRAPH;
  info.source_file = "engine.c";
  info.source_line = __LINE__;
  return opdump_define(session, &info);
}

static opdump_tensor tensor(const float* data) {
  opdump_tensor made = {0};
  made.size = sizeof made;
  made.dtype = OPDUMP_FLOAT32;
  made.rank = 1;
  made.shape = kShape;
  made.data = data;
  return made;
}

static void run(opdump_session* session, const opdump_op* op, const float* from, float* to, float factor) {
  const opdump_tensor input = tensor(from), output = tensor(to);
  opdump_call* const call = opdump_begin(session, op, &input, 1);
  for (int i = 0; i < kWidth; ++i) to[i] = factor == 0 ? tanhf(from[i]) : from[i] * factor;
  opdump_end(session, call, &output, 1, 0);
}

int main(int argc, char** argv) {
  const int steps = argc > 1 ? atoi(argv[1]) : 20, fault = argc > 2 ? atoi(argv[2]) : -1,
            pause = argc > 3 ? atoi(argv[3]) : 0;
  opdump_options options = {0};
  options.size = sizeof options;
  options.runtime = "engine 1.0";
  opdump_session* session = NULL;
  if (opdump_open(&options, &session) != OPDUMP_OK) return 4;
  const opdump_op *const scale = define(session, "Mul", "Default/scale-Scale/Mul-op0"),
                         *const squash = define(session, "Tanh", "Default/squash-Squash/Tanh-op0");
  static float x[kWidth], scaled[kWidth], y[kWidth];
  for (int i = 0; i < kWidth; ++i) x[i] = (float)i / kWidth;
  for (int step = 0; step < steps; ++step) {
    opdump_set_step(session, step);
    run(session, scale, x, scaled, fault >= 0 && step >= fault ? 2.5f : 2);
    run(session, squash, scaled, y, 0);
    for (int i = 0; i < kWidth; ++i) x[i] = 0.5f + y[i] / 2;
    printf("%d %g\n", step, (double)y[kWidth / 2]);
    fflush(stdout);
    const struct timespec time = {pause / 1000, pause % 1000 * 1000000L};
    nanosleep(&time, NULL);
  }
  return opdump_close(session) == OPDUMP_OK ? 0 : 4;
}
