#include "capture/run_environment.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <thread>

#include "base/file/file.h"
#include "base/text/text.h"

namespace opdump::capture {
namespace {

constexpr std::size_t kMaxValue = 4096;
constexpr std::array<std::string_view, 34> kPrefixes{"ACL_",
                                                     "ASCEND_",
                                                     "ATEN_",
                                                     "CUBLAS_",
                                                     "CUDA_",
                                                     "CUDNN_",
                                                     "DNNL_",
                                                     "GOMP_",
                                                     "GOTO_",
                                                     "HCCL_",
                                                     "HIP_",
                                                     "KMP_",
                                                     "MIOPEN_",
                                                     "MKL_",
                                                     "MS_",
                                                     "NCCL_",
                                                     "NVIDIA_",
                                                     "OMP_",
                                                     "ONEDNN_",
                                                     "OPENBLAS_",
                                                     "ORT_",
                                                     "PYTHONHASHSEED=",
                                                     "PYTORCH_",
                                                     "ROCBLAS_",
                                                     "TF_CPP_",
                                                     "TF_CUDNN_",
                                                     "TF_DETERMINISTIC_",
                                                     "TF_ENABLE_",
                                                     "TF_FORCE_",
                                                     "TF_NUM_",
                                                     "TF_XLA_",
                                                     "TORCHINDUCTOR_",
                                                     "TORCH_",
                                                     "XLA_"};

std::string cut(std::string text) {
  if (text.size() > kMaxValue) text.resize(kMaxValue);
  return text;
}

// The words as a shell would take them, as far as that is simple.
std::string read_command() {
  const auto text = read_file("/proc/self/cmdline", 1 << 20);
  if (!text) return {};
  std::string command;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const bool is_plain = !word.empty() && word.find_first_of(" \t\n'\"$\\;&|<>()*?") == word.npos;
    if (!command.empty()) command += ' ';
    command += is_plain ? std::string(word) : "'" + std::string(word) + "'";
  }
  return cut(std::move(command));
}

std::string read_processor() {
  const auto text = read_file("/proc/cpuinfo", 1 << 22);
  if (!text) return {};
  constexpr std::string_view key = "model name";
  const std::size_t at = text->find(key), colon = text->find(": ", at);
  if (at == text->npos || colon == text->npos) return {};
  return text->substr(colon + 2, text->find('\n', colon) - colon - 2);
}

}  // namespace

dump::RunEnvironment describe_environment() {
  dump::RunEnvironment environment;
  environment["command"] = read_command();
  environment["processor"] = read_processor();
  environment["cores"] = std::to_string(std::thread::hardware_concurrency());
  for (char** variable = ::environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    if (equals == text.npos ||
        std::ranges::none_of(kPrefixes, [&](std::string_view prefix) { return text.starts_with(prefix); }))
      continue;
    environment[std::string(text.substr(0, equals))] = cut(std::string(text.substr(equals + 1)));
  }
  std::erase_if(environment, [](const auto& fact) { return fact.second.empty(); });
  return environment;
}

}  // namespace opdump::capture
