// A tiny engine that records what its operators read and write, once right and once with a fault, and then
// names the operator that broke.
#include <cmath>
#include <cstdio>
#include <opdump/opdump.hpp>
#include <opdump/opdump_read.hpp>
#include <string>
#include <vector>

namespace {

const char kConfig[] =
    R"({"common_dump_settings": {"dump_mode": 0, "path": "%s", "net_name": "net", "iteration": "all",
        "saved_data": "tensor", "input_output": 0, "kernels": [], "support_device": [0]},
        "e2e_dump_settings": {"enable": true}})";

const opdump_op* define(opdump_session* session, const char* type, const char* name) {
  opdump_op_info info = opdump_op_info();
  info.size = sizeof info;
  info.type = type;
  info.name = name;
  return opdump_define(session, &info);
}

// relu(x * scale), then a sigmoid.
bool run(const std::string& folder, float scale) {
  char config[1024];
  std::snprintf(config, sizeof config, kConfig, folder.c_str());
  opdump_options options = opdump_options();
  options.config_text = config;
  options.existing = OPDUMP_EXISTING_REPLACE;
  opdump::Recording recording(options);
  if (!recording) {
    std::fprintf(stderr, "%s\n", opdump_last_error());
    return false;
  }
  const opdump_op* mul = define(recording.get(), "Mul", "Default/Mul-op0");
  const opdump_op* relu = define(recording.get(), "ReLU", "Default/ReLU-op1");
  const opdump_op* sigmoid = define(recording.get(), "Sigmoid", "Default/Sigmoid-op2");
  opdump_set_step(recording.get(), 0);

  const std::vector<float> x{-1, 2, 3, -4, 5, 6};
  std::vector<float> scaled(6), positive(6), y(6);
  const std::vector<std::int64_t> shape{2, 3};
  {
    opdump::Call call(recording.get(), mul, {opdump::Tensor(x.data(), shape)});
    for (int i = 0; i < 6; ++i) scaled[i] = x[i] * scale;
    call.finish({opdump::Tensor(scaled.data(), shape)});
  }
  {
    opdump::Call call(recording.get(), relu, {opdump::Tensor(scaled.data(), shape)});
    for (int i = 0; i < 6; ++i) positive[i] = std::fmax(scaled[i], 0.0f);
    call.finish({opdump::Tensor(positive.data(), shape)});
  }
  {
    opdump::Call call(recording.get(), sigmoid, {opdump::Tensor(positive.data(), shape)});
    for (int i = 0; i < 6; ++i) y[i] = 1 / (1 + std::exp(-positive[i]));
    call.finish({opdump::Tensor(y.data(), shape)});
  }
  return recording.close() == OPDUMP_OK;
}

void list(const opdump::Dump& dump) {
  for (const opdump::Operator& op : dump.operators())
    for (const opdump::Slot& slot : op.slots()) {
      const opdump::Elements elements = slot.elements();
      if (!elements) {
        std::printf("%s %s: %s\n", op.name(), slot.name(), elements.error().c_str());
        continue;
      }
      float largest = elements.data<float>()[0];
      for (std::size_t i = 0; i < elements.count(); ++i) largest = std::fmax(largest, elements.data<float>()[i]);
      std::printf("%s %s: %zu elements, largest %g\n", op.name(), slot.name(), elements.count(), largest);
    }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: engine FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  if (!run(folder + "/golden", 2) || !run(folder + "/actual", 2.5f)) return 3;

  const opdump::Dump golden(folder + "/golden"), actual(folder + "/actual");
  if (!golden || !actual) {
    std::fprintf(stderr, "%s%s\n", golden.error().c_str(), actual.error().c_str());
    return 3;
  }
  list(golden);
  const opdump::Comparison comparison = opdump::compare(golden, actual);
  if (!comparison) {
    std::fprintf(stderr, "%s\n", comparison.error().c_str());
    return 3;
  }
  std::printf("%s\n", comparison.conclusion().c_str());
  for (const opdump_finding& finding : comparison.findings())
    std::printf("%-9s  %s\n", finding.verdict, finding.name);
  return comparison.outcome();
}
