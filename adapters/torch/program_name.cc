#include "program_name.h"

#include <fstream>
#include <iterator>
#include <vector>

namespace opdump::torch_adapter {
namespace {

std::string_view stem(std::string_view path) {
  path = path.substr(path.rfind('/') + 1);
  return path.substr(0, path.rfind('.'));
}

}  // namespace

std::string program_name(std::string_view command_line) {
  std::vector<std::string_view> words;
  while (!command_line.empty()) {
    const std::size_t end = command_line.find('\0');
    words.push_back(command_line.substr(0, end));
    command_line.remove_prefix(end == std::string_view::npos ? command_line.size() : end + 1);
  }
  if (words.empty()) return "program";
  const std::string_view program = words[0].substr(words[0].rfind('/') + 1);
  if (!program.starts_with("python")) return std::string(stem(words[0]));
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].ends_with(".py")) return std::string(stem(words[i]));
    if (words[i] == "-m" && i + 1 < words.size()) return std::string(words[i + 1]);
    if (!words[i].starts_with('-')) break;
  }
  return std::string(program);
}

std::string program_name() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  return program_name(std::string(std::istreambuf_iterator<char>(file), {}));
}

}  // namespace opdump::torch_adapter
