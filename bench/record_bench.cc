// What recording one operator costs the program: three 1 KiB tensors in statistics mode, through the C ABI,
// with the rows written. Usage: record_bench [calls]
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "bench/measure.h"
#include "opdump/opdump.h"

namespace {

using namespace opdump;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBytes = 1024;

std::string write_config(const std::string& directory) {
  std::string path = directory + "/data_dump.json";
  std::ofstream(path)
      << R"({"common_dump_settings": {"dump_mode": 0, "path": ")" << directory
      << R"(/dump", "net_name": "net", "iteration": "0|2", "input_output": 0, "kernels": [],)"
      << R"("support_device": [0], "saved_data": "statistic"}, "e2e_dump_settings": {"enable": true}})";
  return path;
}

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Program {
  explicit Program(opdump_session* opened) : session(opened) {
    for (std::size_t i = 0; i < 3; ++i) {
      opdump_tensor& tensor = tensors[i];
      tensor.size = sizeof tensor;
      tensor.dtype = OPDUMP_FLOAT32;
      tensor.rank = 2;
      tensor.index = static_cast<std::uint32_t>(i % 2);
      tensor.shape = shape;
      tensor.data = memory[i];
    }
    opdump_op_info info{};
    info.size = sizeof info;
    info.type = "Add";
    for (int i = 0; i < 100; ++i) {
      const std::string name = "Default/layer" + std::to_string(i) + "-Linear/Add-op" + std::to_string(i);
      info.name = name.c_str();
      operators.push_back(opdump_define(session, &info));
    }
  }

  // Seconds a call.
  double run(int calls) {
    const auto begin = Clock::now();
    for (int i = 0; i < calls; ++i) {
      for (opdump_tensor& tensor : tensors) tensor.content = with_content ? ++content : 0;
      if (undumped) tensors[1].undumped = "view";
      const opdump_op* op = operators[static_cast<std::size_t>(i) % operators.size()];
      if (!opdump_wants(session, op)) continue;
      opdump_call* call = opdump_begin(session, op, tensors, 2);
      const std::uint64_t written[] = {tensors[2].content};
      opdump_before_write(session, written, 1);
      opdump_end(session, call, tensors + 2, 1, 0);
    }
    tensors[1].undumped = nullptr;
    return std::chrono::duration<double>(Clock::now() - begin).count() / calls;
  }

  opdump_session* session;
  const std::int64_t shape[2] = {16, 16};
  float memory[3][kBytes / 4] = {};
  opdump_tensor tensors[3] = {};
  std::vector<const opdump_op*> operators;
  std::uint64_t content = 0;
  bool with_content = true, undumped = false;
};

}  // namespace

int main(int argc, char** argv) {
  const int calls = argc > 1 ? std::atoi(argv[1]) : 200'000;
  std::string directory = (std::filesystem::temp_directory_path() / "opdump_bench_XXXXXX").string();
  if (!::mkdtemp(directory.data())) return 1;
  const std::string config = write_config(directory);
  opdump_options options{};
  options.size = sizeof options;
  options.config_path = config.c_str();
  opdump_session* session = nullptr;
  if (opdump_open(&options, &session) != OPDUMP_OK) {
    std::fprintf(stderr, "%s\n", opdump_last_error());
    return 1;
  }
  Program program(session);
  std::vector<char> copy(3 * kBytes);
  const double memcpy_seconds = bench::best_seconds(
                                    [&] {
                                      for (int i = 0; i < 1000; ++i) {
                                        std::memcpy(copy.data(), program.memory, copy.size());
                                        bench::keep(copy);
                                      }
                                    },
                                    0.05) /
                                1000;
  const auto print = [&](const char* name, double seconds) {
    std::printf("  %-52s %8.0f ns a call  %6.1f x memcpy of its tensors\n", name, seconds * 1e9,
                seconds / memcpy_seconds);
  };
  // Rows that are still to be written belong to the price; the processor's time is that of all threads.
  const auto print_recorded = [&](const char* name) {
    double best = 1e9, best_cpu = 1e9;
    for (int round = 0; round < 5; ++round) {
      const auto begin = Clock::now();
      const double cpu_begin = cpu_seconds();
      program.run(calls);
      opdump_flush(session);
      best_cpu = std::min(best_cpu, (cpu_seconds() - cpu_begin) / calls);
      best = std::min(best, std::chrono::duration<double>(Clock::now() - begin).count() / calls);
    }
    print(name, best);
    print("  processor time of all threads", best_cpu);
  };
  program.run(1000);
  opdump_flush(session);
  double burst = 1e9;
  for (int round = 0; round < 10; ++round) {
    burst = std::min(burst, program.run(10'000));
    opdump_flush(session);
  }
  print("3 x 1 KiB, on the calling thread", burst);
  print_recorded("3 x 1 KiB, until the rows are written");
  program.with_content = false;
  print_recorded("the same without content numbers");
  program.undumped = true;
  print_recorded("one of the three without data");
  opdump_set_step(session, 1);
  print("in a step that is not selected", program.run(10 * calls));
  opdump_close(session);
  std::filesystem::remove_all(directory);
}
