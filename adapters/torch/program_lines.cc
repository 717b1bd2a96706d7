#include "program_lines.h"

#include <torch/csrc/jit/runtime/interpreter.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "bridge.h"
#include "switches.h"

namespace opdump::torch_adapter {
namespace {

// Files below it are named relative to it, as Python's are.
const std::string& working_directory() {
  static const auto* directory = new std::string([] {
    const std::unique_ptr<char, decltype(&std::free)> path(::getcwd(nullptr, 0), &std::free);
    return path ? path.get() + std::string("/") : std::string("\n");
  }());
  return *directory;
}

// The calls that led to an operator. Its line is the innermost one of the program's own code, helpers
// included; that of an installed package if the program has none.
class StackBuilder {
 public:
  bool add(std::string_view file, int line, std::string_view function, bool is_own) {
    if (!source_.file || (is_own && !has_own_)) source_.file = intern(file), source_.line = line;
    has_own_ = has_own_ || is_own;
    if (stack_.size() < kMaxFrames)
      stack_.push_back(intern(std::string(file) + ":" + std::to_string(line) + ":" + std::string(function)));
    return stack_.size() < kMaxFrames || !has_own_;
  }
  Source finish() {
    if (!stack_.empty()) source_.stack = intern(std::move(stack_));
    return source_;
  }

 private:
  static constexpr std::size_t kMaxFrames = 64;  // of a recursion the innermost ones say enough
  Source source_;
  bool has_own_ = false;
  Stack stack_;
};

bool is_installed(std::string_view file) {
  return file.find("/site-packages/") != std::string_view::npos ||
         file.find("/dist-packages/") != std::string_view::npos;
}

// TorchScript has no Python frames; its interpreter knows the lines.
void add_script_frames(StackBuilder& stack) {
  for (const torch::jit::StackEntry& entry : torch::jit::currentCallstack()) {
    const auto place = entry.range.file_line_col();
    if (!place) continue;
    const auto& [file, line, column] = *place;
    if (file.find("/torch/") != std::string::npos) continue;
    const bool is_below = file.starts_with(working_directory());
    stack.add(is_below ? file.substr(working_directory().size()) : file, static_cast<int>(line),
              entry.filename, !is_installed(file));
  }
}

}  // namespace

Source find_program_line(bool has_script_frames) {
  StackBuilder stack;
  if (has_script_frames) add_script_frames(stack);
  const opdump_torch_bridge* bridge = current_bridge();
  if (bridge && bridge->visit_frames)
    bridge->visit_frames(
        [](void* user, const char* file, int line, const char* function, int is_own) {
          return static_cast<int>(static_cast<StackBuilder*>(user)->add(file, line, function, is_own != 0));
        },
        &stack);
  return stack.finish();
}

}  // namespace opdump::torch_adapter
