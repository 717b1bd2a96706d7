#include "dump/read/files/debug_mode_files.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "dump/operator_log.h"
#include "dump/read/files/listed_call.h"
#include "format/tables/debug_mode.h"

namespace opdump::dump {
namespace fs = std::filesystem;
namespace {

using format::DebugModeLine;

constexpr std::uint64_t kMaxLogBytes = std::uint64_t{1} << 30;
constexpr std::string_view kOptimizerStep = "Optimizer.step#";

// "Optimizer.step#SGD.step" -> "optimizer-SGD"; nothing for other records.
std::string optimizer_scope(std::string_view record) {
  const std::size_t hash = record.find('#'), dot = record.rfind('.');
  if (!record.starts_with("Optimizer.") || hash == record.npos || dot <= hash) return {};
  return "optimizer-" + std::string(record.substr(hash + 1, dot - hash - 1));
}

// "aten::add.Tensor" -> "add", "torchvision::nms" -> "torchvision_nms"
std::string type_of(const DebugModeLine& line) {
  if (line.is_kernel) return line.name;
  std::string_view name = line.name;
  name = name.substr(0, name.find('.', name.find("::")));
  const std::size_t colons = name.find("::");
  const std::string space(name.substr(0, colons)), type(name.substr(colons + 2));
  return space == "aten" ? type : space + "_" + type;
}

class DebugModeRuns {
 public:
  DebugModeRuns(std::string_view text, std::string_view prefix)
      : text_(text), prefix_(prefix), has_optimizer_(text.find(kOptimizerStep) != std::string_view::npos) {}

  // The run that `line` is; nothing if it is none.
  std::optional<OperatorRun> next(DebugModeLine line) {
    while (!regions_.empty() && line.level < regions_.back().inner_level) leave_region();
    if (line.kind == DebugModeLine::Kind::call) return run_of(std::move(line));
    if (line.kind != DebugModeLine::Kind::other) enter_region(line);
    return std::nullopt;
  }

 private:
  struct Region {
    std::int64_t inner_level = 0;
    std::string scope;  // "conv1", "optimizer-SGD"; that around it if it has none
    model::Phase phase = model::Phase::forward;
    std::string module;  // its name in the log; empty if it is none
    bool ends_step = false;
  };

  void enter_region(const DebugModeLine& line) {
    constexpr std::size_t kMostRegions = 1000;  // in one another
    if (regions_.size() == kMostRegions) return;
    Region region = regions_.empty() ? Region() : regions_.back();
    region.inner_level = line.inner_level;
    const bool is_module = line.kind != DebugModeLine::Kind::record;
    region.module = is_module ? line.name : std::string();
    region.ends_step = false;
    if (is_module) {
      if (!line.is_compiled) begin_step_at(line.name);
      region.scope = module_path(line.name);
      if (line.kind == DebugModeLine::Kind::module_backward) region.phase = model::Phase::backward;
    } else if (std::string scope = optimizer_scope(line.name); !scope.empty()) {
      region.scope = std::move(scope);
      region.phase = model::Phase::optimizer;
      region.ends_step = line.name.starts_with(kOptimizerStep);
    }
    regions_.push_back(std::move(region));
  }

  void leave_region() {
    if (regions_.back().ends_step) is_step_over_ = true;
    regions_.pop_back();
  }

  // The loop of a program without an optimizer calls its model again.
  void begin_step_at(const std::string& module) {
    if (!is_in_module() && !has_optimizer_ && !called_.insert(module).second) is_step_over_ = true;
  }

  void begin_step() {
    ++step_;
    numbers_.clear();
    called_.clear();
    is_step_over_ = false;
    for (const Region& region : regions_) called_.insert(region.module);
  }

  // The model is the first outermost module with others in it, and has no part of its own in their paths.
  std::string module_path(std::string_view name) {
    constexpr std::size_t kMostRoots = 64;  // that are looked for in the text
    const std::string root(name.substr(0, name.find('.')));
    if (model_.empty() && !is_in_module() && roots_.size() < kMostRoots && roots_.insert(root).second &&
        text_.find("\"" + root + ".") != std::string_view::npos)
      model_ = root;
    if (root == model_) name.remove_prefix(std::min(root.size() + 1, name.size()));
    std::string path(name);
    std::ranges::replace(path, '.', '/');
    return path;
  }

  bool is_in_module() const {
    return std::ranges::any_of(regions_, [](const Region& region) { return !region.module.empty(); });
  }

  OperatorRun run_of(DebugModeLine line) {
    if (is_step_over_) begin_step();
    const Region around = regions_.empty() ? Region() : regions_.back();
    LoggedOperator op;
    op.type = type_of(line);
    op.graph_id = model::kAnyGraph;
    op.phase = around.phase;
    const bool is_backward = line.is_backward || op.type.find("_backward") != std::string::npos;
    if (is_backward && op.phase == model::Phase::forward) op.phase = model::Phase::backward;
    op.name = prefix_ + std::string(around.phase == model::Phase::backward ? model::kGradients : "") +
              "Default/" + around.scope + (around.scope.empty() ? "" : "/") + op.type;
    op.name += "-op" + std::to_string(numbers_[op.name]++);
    op.has_full_scope = false;
    op.stack = std::move(line.stack);
    set_source(op);
    OperatorRun run;
    run.step = step_;
    run.type = op.type;
    run.name = model::sanitise_name(op.name);
    run.op = std::make_shared<const LoggedOperator>(std::move(op));
    run.form =
        std::make_shared<const CallForm>(CallForm{.function = line.is_kernel ? std::string() : line.name,
                                                  .arguments = encode_call_arguments(line.arguments)});
    for (format::DebugModeTensor& tensor : line.tensors) run.slots.push_back(slot_of(std::move(tensor)));
    return run;
  }

  static Slot slot_of(format::DebugModeTensor tensor) {
    Slot slot = slot_of_listed(std::move(tensor));
    if (slot.statistics.empty()) slot.undumped_reason = "no hash in the log";
    return slot;
  }

  std::string_view text_;
  std::string prefix_;
  bool has_optimizer_, is_step_over_ = false;
  std::int64_t step_ = 0;
  std::string model_;
  std::vector<Region> regions_;
  std::set<std::string> roots_;                   // of the names of outermost modules
  std::set<std::string> called_;                  // outermost modules of the step
  std::map<std::string, std::uint64_t> numbers_;  // of the next operator, by scope and type
};

}  // namespace

void read_debug_mode_file(const fs::path& path, std::string_view prefix, Problems& problems,
                          const TakeRun& take) {
  const auto text = read_file(path, kMaxLogBytes);
  if (!text) return problems.push_back({path, text.error().message()});
  DebugModeRuns runs(*text, prefix);
  const auto faults = format::decode_debug_mode(*text, [&](DebugModeLine line) {
    if (auto run = runs.next(std::move(line))) take(std::move(*run));
  });
  if (!faults) return problems.push_back({path, faults.error().message()});
  if (faults->damaged > 0)
    problems.push_back({path, counted(faults->damaged, "damaged line") + ", " + faults->first});
  if (faults->damaged == 0 && faults->unknown > 0)
    problems.push_back({path, counted(faults->unknown, "line") + " not read, " + faults->first});
}

}  // namespace opdump::dump
