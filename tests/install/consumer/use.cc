// The same as use.c, with lifetimes that end by themselves.
#include <cstdio>
#include <opdump/opdump.hpp>

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  opdump_options options{};
  options.config_path = argv[1];
  opdump::Recording recording(options);
  if (!recording) {
    std::fprintf(stderr, "%s\n", opdump_last_error());
    return 1;
  }
  opdump_set_step(recording.get(), 0);
  opdump_op_info info{};
  info.size = sizeof info;
  info.type = "relu";
  info.name = "Default/relu-op0";
  const float input[] = {-1, 2}, output[] = {0, 2};
  const std::int64_t shape[] = {2};
  opdump_tensor tensor{};
  tensor.size = sizeof tensor;
  tensor.dtype = OPDUMP_FLOAT32;
  tensor.rank = 1;
  tensor.shape = shape;
  tensor.data = input;
  opdump::Call call(recording.get(), opdump_define(recording.get(), &info), &tensor, 1);
  tensor.data = output;
  call.finish(&tensor, 1);
  std::printf("%s\n", opdump_version());
  return recording.close() == OPDUMP_OK ? 0 : 1;
}
