#include "names.h"

#include <utility>

#include "kinds.h"

namespace opdump::tensorflow_adapter {
namespace {

bool has_gradients(std::string_view name) {
  return name.find("gradient_tape/") != std::string_view::npos || name.substr(0, 10) == "gradients/" ||
         name.find("/gradients/") != std::string_view::npos;
}

}  // namespace

std::string Names::unique(std::string_view name, bool is_eager, std::int64_t iteration) {
  std::string result(name);
  // Nodes seldom have such names, so they keep theirs. File names keep the hyphen.
  if (iteration > 0) result += "-" + std::to_string(iteration);
  const int uses = uses_[result]++;
  if (uses == 0) return result;
  const std::string counted = result + (is_eager ? "_" : "-") + std::to_string(uses);
  return uses_[counted]++ == 0 ? counted : unique(counted, false, 0);
}

const opdump_op* Names::next(std::string_view type, std::string_view name, bool is_eager,
                             std::int64_t iteration, const Source* source) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::string full = unique(name, is_eager, iteration);
  // A step may execute the same name as another type, because graphs are optimised one by one.
  const std::string key = full + '\n' + std::string(type);
  if (const auto known = operators_.find(key); known != operators_.end()) return known->second;
  if (!source) source = find_source(name);
  const std::string type_text(type);
  opdump_op_info info{};
  info.size = sizeof info;
  info.type = type_text.c_str();
  info.name = full.c_str();
  info.phase = phase_of(type, name);
  if (source) {
    info.source_file = source->file.c_str();
    info.source_line = source->line;
  }
  const opdump_op* const op = opdump_define(session_, &info);
  operators_.emplace(key, op);
  return op;
}

void Names::begin_step() {
  const std::lock_guard<std::mutex> lock(mutex_);
  uses_.clear();
}

void Names::add_source(std::string name, Source source) {
  const std::lock_guard<std::mutex> lock(mutex_);
  sources_.emplace(std::move(name), std::move(source));
}

void Names::add_optimizer(std::string name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  optimizers_.insert(std::move(name));
}

// An inlined function's nodes have the names of the call before theirs.
const Source* Names::find_source(std::string_view name) const {
  for (;;) {
    if (const auto found = sources_.find(std::string(name)); found != sources_.end()) return &found->second;
    const std::size_t slash = name.find('/');
    if (slash == std::string_view::npos) return nullptr;
    name.remove_prefix(slash + 1);
  }
}

opdump_phase Names::phase_of(std::string_view type, std::string_view name) const {
  if (is_optimizer_type(type)) return OPDUMP_OPTIMIZER;
  for (std::string_view rest = name;;) {
    const std::size_t slash = rest.find('/');
    if (slash == std::string_view::npos) break;
    if (optimizers_.find(rest.substr(0, slash)) != optimizers_.end()) return OPDUMP_OPTIMIZER;
    rest.remove_prefix(slash + 1);
  }
  return has_gradients(name) ? OPDUMP_BACKWARD : OPDUMP_FORWARD;
}

}  // namespace opdump::tensorflow_adapter
