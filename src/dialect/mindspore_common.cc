// MindsporeCompiler: common_dump_settings, key by key (mindspore.md 1.3 to 1.9).
#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "dialect/mindspore_compiler.h"
#include "dialect/mindspore_text.h"

namespace opdump::dialect {
namespace {

constexpr std::array<std::string_view, 3> kSavedData{"tensor", "statistic", "full"};
constexpr std::array<std::string_view, 2> kFileFormats{"npy", "bin"};

// How the original turns an item of support_device into a device id: any number or boolean will do.
std::optional<std::uint32_t> convert_device(const nlohmann::json& item) {
  if (item.is_boolean()) return item.get<bool>() ? 1 : 0;
  if (item.is_number_integer()) return static_cast<std::uint32_t>(item.get<std::int64_t>());
  if (item.is_number_float() && item.get<double>() > -1 && item.get<double>() < 0x1p32)
    return static_cast<std::uint32_t>(item.get<double>());
  return std::nullopt;
}

}  // namespace

Result<> MindsporeCompiler::read_dump_mode() {
  OPDUMP_TRY(const auto mode,
             read_number(common_, "dump_mode",
                         "0 (all operators), 1 (those in kernels) or 2 (those flagged by set_dump)", 2));
  dump_mode_ = *mode;
  if (dump_mode_ == 2 && strict_ && mode_ == Mode::ge)
    return common_.wrong("dump_mode", "set_dump is not supported in GE dump, only 0 or 1");
  if (dump_mode_ == 2 && strict_ && !on_ascend())
    return common_.wrong("dump_mode", "set_dump is only supported in Ascend dump, here only 0 or 1");
  plan_.only_flagged_operators = dump_mode_ == 2;
  return ok();
}

Result<> MindsporeCompiler::read_path() {
  constexpr std::string_view kVariable = "MS_DIAGNOSTIC_DATA_PATH";
  std::string text;
  if (common_.find("path") != nullptr) {
    OPDUMP_TRY(text, common_.read_string("path", "the directory to dump to"));
  }
  if (!text.empty()) {
    auto root = parse_path(text, options_);
    if (!root) return common_.wrong("path", root.error().message());
    plan_.root = std::move(*root);
    return ok();
  }
  const auto base = options_.environment ? options_.environment(kVariable) : std::nullopt;
  if (!base || base->empty())
    return document_.error(common_.pointer("path"),
                           "path is empty; set it, or the environment variable " + std::string(kVariable));
  auto root = parse_path(*base + "/debug_dump", options_);
  if (!root)
    return document_.error(common_.pointer("path"), "path is " + quote(*base + "/debug_dump") + " from " +
                                                        std::string(kVariable) + "; " +
                                                        root.error().message());
  plan_.root = std::move(*root);
  return ok();
}

Result<> MindsporeCompiler::read_net_name() {
  OPDUMP_TRY(plan_.net_name, common_.read_string("net_name", "a name for the network"));
  if (const auto checked = check_net_name(plan_.net_name); !checked)
    return common_.wrong("net_name", checked.error().message());
  return ok();
}

Result<> MindsporeCompiler::read_iteration() {
  if (common_.find("iteration") == nullptr) return ok();
  OPDUMP_TRY(const std::string text, common_.read_string("iteration", "\"all\" or \"0|5-8|100-120\""));
  std::vector<std::string> never_matching;
  auto steps = parse_iteration(text, strict_, never_matching);
  if (!steps) return common_.wrong("iteration", steps.error().message());
  for (const std::string& segment : never_matching)
    warn(common_, "iteration", "iteration has " + quote(segment) + ", which matches no step");
  plan_.steps = std::move(*steps);
  return ok();
}

Result<> MindsporeCompiler::read_input_output() {
  OPDUMP_TRY(const auto sides,
             read_number(common_, "input_output", "0 (both), 1 (inputs) or 2 (outputs)", 2));
  plan_.sides = static_cast<plan::Sides>(sides.value_or(0));
  return ok();
}

Result<> MindsporeCompiler::read_kernels() {
  const nlohmann::json* kernels = nullptr;
  if (common_.find("kernels") != nullptr) {
    OPDUMP_TRY(kernels, common_.read_array("kernels", "operator names, types and name-regex(...)"));
  }
  if (dump_mode_ != 1) return ok();
  std::set<std::string> seen;
  for (std::size_t i = 0; kernels != nullptr && i < kernels->size(); ++i) {
    auto rule = parse_kernel((*kernels)[i], strict_, is_offline());
    if (!rule) return common_.wrong("kernels", i, rule.error().message());
    if (!*rule) continue;
    auto& [kind, text] = **rule;
    if (!seen.insert(std::to_string(static_cast<int>(kind)) + text).second) {
      warnings_.add(common_.pointer("kernels", i), "duplicate kernel " + quote(text));
      continue;
    }
    if (strict_ && mode_ == Mode::ge && kind == plan::RuleKind::type)
      warnings_.add(common_.pointer("kernels", i),
                    "operator types are not supported by GE; " + quote(text) + " may not take effect");
    if (auto added = plan_.operators.add(kind, std::move(text)); !added)
      return common_.wrong("kernels", i, added.error().message());
  }
  if (plan_.operators.selects_all())
    warn(common_, "kernels", "kernels names no operator, so dump_mode 1 selects all of them");
  return ok();
}

Result<> MindsporeCompiler::read_support_device() {
  if (common_.find("support_device") == nullptr) return ok();
  OPDUMP_TRY(const nlohmann::json* items, common_.read_array("support_device", "device ids, [0, 1]"));
  std::set<std::uint32_t> seen;
  for (std::size_t i = 0; i < items->size(); ++i) {
    const nlohmann::json& item = (*items)[i];
    std::optional<std::uint32_t> device;
    if (strict_ || (item.is_number_unsigned() && item.get<std::uint64_t>() <= kMaxUint32))
      device = convert_device(item);
    if (!device) return common_.wrong("support_device", i, "should be unsigned int type: a device id");
    if (seen.insert(*device).second)
      plan_.devices.push_back(*device);
    else
      warnings_.add(common_.pointer("support_device", i), "duplicate device " + std::to_string(*device));
  }
  if (items->empty() && mode_ != Mode::cpu) {
    if (strict_)
      dump_nothing(common_.pointer("support_device"), "support_device names no device");
    else
      warn(common_, "support_device", "support_device names no device and is read as all of them");
  }
  return ok();
}

Result<> MindsporeCompiler::read_debug_mode() {
  const bool ge = mode_ == Mode::ge;
  OPDUMP_TRY(const auto mode,
             read_number(common_, "op_debug_mode",
                         ge ? "0 (none), 1 (AI Core overflow), 2 (atomic overflow) or 3 (overflow)"
                            : "0 (none), 3 (overflow) or 4 (exception)",
                         ge ? 3 : 4));
  const std::uint64_t number = mode.value_or(0);
  plan_.debug = number == 0   ? plan::DebugMode::none
                : number == 4 ? plan::DebugMode::exception
                              : plan::DebugMode::overflow;
  overflow_number_allowed_ = number == 3 || (!ge && (number == 1 || number == 2));
  if (number == 1 || number == 2) warn(common_, "op_debug_mode", "op_debug_mode is read as 3");
  adjust_for_debug_mode();
  return ok();
}

Result<> MindsporeCompiler::read_file_format() {
  if (e2e_on()) {
    if (common_.find("file_format") != nullptr && *common_.find("file_format") != "npy")
      warn(common_, "file_format", "file_format has no effect in this mode; tensors are .npy files");
    return ok();
  }
  std::string format = "bin";
  if (common_.find("file_format") != nullptr) {
    OPDUMP_TRY(format, common_.read_string("file_format", "npy or bin"));
  }
  if (format != "npy" && format != "bin") return common_.wrong_choice("file_format", kFileFormats);
  if (is_offline() && format == "bin") plan_.file_format = plan::FileFormat::bin;
  return ok();
}

Result<> MindsporeCompiler::read_overflow_number() {
  if (common_.find("overflow_number") == nullptr) return ok();
  if (!overflow_number_allowed_)
    return common_.wrong("overflow_number", "overflow_number only needs to be set when op_debug_mode is 3");
  OPDUMP_TRY(const auto number,
             read_number(common_, "overflow_number", "how many overflowing operators to keep", kMaxUint32));
  plan_.overflow_limit = *number;
  return ok();
}

Result<> MindsporeCompiler::read_saved_data() {
  if (common_.find("saved_data") == nullptr) return ok();
  OPDUMP_TRY(const std::string data, common_.read_string("saved_data", "tensor, statistic or full"));
  if (data == "tensor") return ok();
  if (data != "statistic" && data != "full") return common_.wrong_choice("saved_data", kSavedData);
  if (strict_ && mode_ == Mode::cpu)
    return common_.wrong("saved_data",
                         "statistics are only supported on GPU and Ascend; on CPU only \"tensor\"");
  if (is_offline() && plan_.file_format != plan::FileFormat::npy)
    return common_.wrong(
        "saved_data", "without e2e_dump_settings statistics are only supported when file_format is \"npy\"");
  plan_.content = data == "full" ? plan::Content::both : plan::Content::statistics;
  return ok();
}

Result<> MindsporeCompiler::read_initial_iteration() {
  OPDUMP_TRY(const auto step,
             read_number(common_, "initial_iteration", "the number of the first step", kMaxUint32));
  plan_.initial_step = step.value_or(0);
  return ok();
}

Result<> MindsporeCompiler::read_statistics() {
  constexpr std::string_view kKey = "statistic_category";
  if (plan_.content == plan::Content::tensor) return ok();
  const nlohmann::json* items = nullptr;
  if (common_.find(kKey) != nullptr) {
    OPDUMP_TRY(items, common_.read_array(kKey, "names of statistics, [\"max\", \"min\", \"l2norm\"]"));
    plan_.statistics.clear();
  }
  const auto& table = plan::statistic_table();
  std::vector<std::string_view> names(table.size());
  std::ranges::transform(table, names.begin(), &plan::StatisticInfo::name);
  std::set<std::string_view> dropped;
  for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
    if (!(*items)[i].is_string()) return common_.wrong(kKey, i, "should be string type: " + join_or(names));
    const std::string& name = (*items)[i].get_ref<const std::string&>();
    const auto info = std::ranges::find(table, name, &plan::StatisticInfo::name);
    if (info == table.end() || (strict_ && info->statistic == plan::Statistic::xxh128))
      return common_.wrong(kKey, i, "valid are " + join_or(names) + suggest(name, names));
    if (plan_.statistics_processor == plan::Processor::device && !info->on_device)
      dropped.insert(info->name);
    else
      plan_.statistics.push_back(info->statistic);
  }
  if (dropped.empty()) return ok();
  std::string list;
  for (const std::string_view name : dropped) list += (list.empty() ? "" : ", ") + std::string(name);
  warn(common_, kKey, "the device computes only max, min, avg and l2norm; left out: " + list);
  return ok();
}

}  // namespace opdump::dialect
