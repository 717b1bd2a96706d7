/* Records one operator: relu of {-1, 2}. argv[1] is the configuration. */
#include <stdio.h>

#include "opdump/opdump.h"

int main(int argc, char** argv) {
  const float input[2] = {-1, 2}, output[2] = {0, 2};
  const int64_t shape[1] = {2};
  opdump_options options = {0};
  opdump_op_info info = {0};
  opdump_tensor tensor = {0};
  opdump_session* session = NULL;
  const opdump_op* op;
  opdump_call* call;

  if (argc != 2) return 64;
  options.size = sizeof options;
  options.config_path = argv[1];
  if (opdump_open(&options, &session) != OPDUMP_OK) {
    fprintf(stderr, "%s\n", opdump_last_error());
    return 1;
  }
  opdump_set_step(session, 0);
  info.size = sizeof info;
  info.type = "relu";
  info.name = "Default/relu-op0";
  op = opdump_define(session, &info);
  tensor.size = sizeof tensor;
  tensor.dtype = OPDUMP_FLOAT32;
  tensor.rank = 1;
  tensor.shape = shape;
  tensor.data = input;
  call = opdump_begin(session, op, &tensor, 1);
  tensor.data = output;
  opdump_end(session, call, &tensor, 1, 0);
  printf("%s\n", opdump_version());
  return opdump_close(session) == OPDUMP_OK ? 0 : 1;
}
