#include "weights/read/dump_weights.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>

#include "compare/facts/operator_kind.h"
#include "compare/names.h"
#include "dump/read/dump_set.h"

namespace opdump::weights {
namespace fs = std::filesystem;
namespace {

// Which operands of an operator are weights, by ATen's signatures.
struct WeightOperand {
  std::string_view type;
  std::uint32_t index;  // among the operator's tensors
  std::string_view name;
};
constexpr WeightOperand kOperands[] = {
    {"embedding", 0, "weight"},
    {"addmm", 0, "bias"},
    {"addmm", 2, "weight"},
    {"linear", 1, "weight"},
    {"linear", 2, "bias"},
    {"convolution", 1, "weight"},
    {"convolution", 2, "bias"},
    {"_convolution", 1, "weight"},
    {"_convolution", 2, "bias"},
    {"native_layer_norm", 1, "weight"},
    {"native_layer_norm", 2, "bias"},
    {"_fused_rms_norm", 1, "weight"},
    {"native_group_norm", 1, "weight"},
    {"native_group_norm", 2, "bias"},
    {"native_batch_norm", 1, "weight"},
    {"native_batch_norm", 2, "bias"},
    {"native_batch_norm", 3, "running_mean"},
    {"native_batch_norm", 4, "running_var"},
    {"_native_batch_norm_legit_no_training", 1, "weight"},
    {"_native_batch_norm_legit_no_training", 2, "bias"},
    {"_native_batch_norm_legit_no_training", 3, "running_mean"},
    {"_native_batch_norm_legit_no_training", 4, "running_var"},
    {"cudnn_batch_norm", 1, "weight"},
    {"cudnn_batch_norm", 2, "bias"},
};
// mm is any product; in a module of this class it is that of the weight.
constexpr std::string_view kLinearModule = "Linear";

std::string_view operand_name(const dump::OperatorRun& run, const dump::Slot& slot) {
  if (slot.argument.starts_with("parameters.")) return std::string_view(slot.argument).substr(11);  // msprobe
  for (const WeightOperand& operand : kOperands)
    if (operand.type == run.type && operand.index == slot.index) return operand.name;
  const std::string module = compare::module_of(run);
  const std::string_view last = std::string_view(module).substr(module.rfind('/') + 1);
  if (run.type == "mm" && slot.index == 1 && last.ends_with(kLinearModule)) return "weight";
  return {};
}

std::string weight_name(const dump::OperatorRun& run, std::string_view operand) {
  const std::string module = compare::module_path(compare::operator_name(run));
  return module.empty() ? std::string(operand) : module + "." + std::string(operand);
}

}  // namespace

bool is_recorded_dump(const fs::path& path) {
  std::error_code ignored;
  if (fs::exists(path / "operators.jsonl", ignored) || fs::exists(path / "dump.json", ignored)) return true;
  for (const auto& entry : fs::directory_iterator(path, ignored)) {
    const std::string name = entry.path().filename();
    if (entry.is_directory(ignored) && (name.starts_with("rank_") || name.starts_with("step"))) return true;
  }
  return false;
}

Result<> read_dump_weights(const fs::path& path, Checkpoint& checkpoint) {
  OPDUMP_TRY(const dump::DumpSet dump, dump::DumpSet::open(path));
  for (const dump::Problem& problem : dump.problems())
    checkpoint.problems.push_back(problem.path.string() + ": " + problem.what);
  const dump::Runs& runs = dump.runs();
  checkpoint.is_dump = true;
  std::set<std::string> names;
  std::set<std::uint32_t> ranks;
  bool has_weights = false;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    ranks.insert(runs.section_of(i).rank);
    if (*ranks.begin() != runs.section_of(i).rank) break;
    const dump::OperatorRun run = runs.without_slots(i);
    if (compare::phase_of(run) != model::Phase::forward) continue;
    for (const dump::Slot& slot : runs.slots(i)) {
      if (slot.side != model::Side::input) continue;
      const std::string_view operand = operand_name(run, slot);
      if (!slot.shape || (operand.empty() && slot.file.empty())) continue;
      // Anything else that an operator reads may be a weight of a module that computes by itself.
      WeightTensor tensor{operand.empty() ? compare::operator_name(run) + " " + compare::slot_name(slot)
                                          : weight_name(run, operand),
                          TensorOwner::model,
                          slot,
                          {},
                          !operand.empty()};
      if (slot.file.empty())
        tensor.fault = slot.undumped_reason.empty() ? "only statistics are recorded" : slot.undumped_reason;
      has_weights = has_weights || !operand.empty();
      if (names.insert(tensor.name).second) checkpoint.tensors.push_back(std::move(tensor));
    }
  }
  if (ranks.size() > 1)
    checkpoint.remarks.push_back(path.string() + ": the weights are those of rank " +
                                 std::to_string(*ranks.begin()));
  if (!has_weights)
    return Error(Code::unsupported, path.string() + ": no operator of this dump is known to read a weight");
  checkpoint.remarks.push_back(path.string() +
                               ": a dump has the weights that operators read in its first step");
  return ok();
}

}  // namespace opdump::weights
