// Prints a plan as text (describe) and as JSON (describe_json).
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/json.h"
#include "base/text/text.h"
#include "plan/dump_plan.h"

namespace opdump::plan {
namespace {

constexpr std::string_view kContentNames[] = {"tensor", "statistic", "full"};
constexpr std::string_view kSideNames[] = {"inputs and outputs", "inputs", "outputs"};
constexpr std::string_view kSideWords[] = {"both", "inputs", "outputs"};
constexpr std::string_view kDebugNames[] = {"none", "overflow", "exception"};
constexpr std::string_view kFormatNames[] = {"npy", "bin"};
constexpr std::string_view kPlaceNames[] = {"host", "device"};
constexpr std::string_view kPrecisionNames[] = {"high", "low"};
constexpr std::string_view kRuleNames[] = {"regex", "regex search", "name", "type"};
constexpr std::string_view kFilterNames[] = {"ops", "module"};
constexpr std::string_view kSchemeNames[] = {"rank_tree", "model_tree", "time_tree", "acl_tree"};

// A long list of rules is not read by anybody.
constexpr std::size_t kRulesShown = 10;

template <typename Enum, std::size_t N>
std::string_view name_of(const std::string_view (&names)[N], Enum value) {
  return names[static_cast<std::size_t>(value)];
}

// Lines "what     value", values below each other.
class Lines {
 public:
  void add(std::string_view what, std::string_view value) {
    text_ += what;
    text_.append(kWidth - what.size(), ' ');
    text_.append(value).append("\n");
  }

  std::string take() { return std::move(text_); }

 private:
  static constexpr std::size_t kWidth = 12;
  std::string text_;
};

std::string join_statistics(const DumpPlan& plan) {
  std::string text;
  for (const Statistic statistic : plan.statistics) {
    if (!text.empty()) text += ", ";
    text += statistic_table()[static_cast<std::size_t>(statistic)].name;
  }
  return text.empty() ? "no columns" : text;
}

bool writes_statistics(const DumpPlan& plan) { return plan.content != Content::tensor; }
bool writes_tensors(const DumpPlan& plan) { return plan.content != Content::statistics; }

void add_content(Lines& lines, const DumpPlan& plan) {
  std::string what = plan.content == Content::tensor       ? "tensors"
                     : plan.content == Content::statistics ? "statistics"
                                                           : "tensors and statistics";
  lines.add("saves", what + " of " + std::string(name_of(kSideNames, plan.sides)));
  if (plan.debug == DebugMode::overflow) {
    const std::string limit =
        plan.overflow_limit == 0 ? "" : ", the first " + std::to_string(plan.overflow_limit);
    lines.add("only if", "an output of the operator has a NaN or an infinity" + limit);
  }
  if (plan.debug == DebugMode::exception) lines.add("only if", "the operator raises an error");
  if (plan.watch_steps > 0)
    lines.add("watches", "keeps the last " + std::to_string(plan.watch_steps) +
                             " steps, and ends at the first operator that makes a NaN or an infinity");
  if (writes_statistics(plan)) {
    std::string text =
        join_statistics(plan) + "; on the " + std::string(name_of(kPlaceNames, plan.statistics_processor));
    if (plan.statistics_processor == Processor::device)
      text += ", precision " + std::string(name_of(kPrecisionNames, plan.statistics_precision));
    lines.add("statistics", text);
  }
  if (plan.sample_count > 0)
    lines.add("sample", "the first " + std::to_string(plan.sample_count) + " elements of larger tensors");
  if (plan.operator_arguments) lines.add("arguments", "of each operator, in a JSON file beside its tensors");
  if (plan.parameters)
    lines.add("parameters", std::string(plan.input_parameters ? "weights and inputs" : "weights") +
                                " of the graph, at the end of each step");
}

void add_operators(Lines& lines, const DumpPlan& plan) {
  if (plan.only_flagged_operators) {
    lines.add("operators", "those flagged by set_dump()");
    return;
  }
  if (plan.operators.selects_all()) {
    lines.add("operators", "all");
    return;
  }
  const auto rules = plan.operators.rules();
  std::string_view what = "operators";
  for (std::size_t i = 0; i < rules.size() && i < kRulesShown; ++i, what = "")
    lines.add(what, std::string(name_of(kRuleNames, rules[i].kind)) + " " + rules[i].text);
  if (rules.size() > kRulesShown)
    lines.add("", "and " + std::to_string(rules.size() - kRulesShown) + " more");
  constexpr std::array<std::string_view, 2> kMeanings{"only types that match ", "only modules that match "};
  for (const auto& filter : plan.operators.filters())
    lines.add(std::exchange(what, ""),
              std::string(kMeanings[static_cast<std::size_t>(filter.kind)]) + filter.text);
}

void add_budget(Lines& lines, const DumpPlan& plan) {
  if (plan.budget_bytes == kFreeSpace)
    lines.add("budget", "what the disk has free, less 5 %");
  else if (plan.budget_bytes == kFifthOfSpace)
    lines.add("budget", "a fifth of what the disk has free, 10 GiB at most");
  else if (plan.budget_bytes)
    lines.add("budget", format_bytes(*plan.budget_bytes));
}

std::string join_devices(const DumpPlan& plan) {
  std::string text;
  for (const std::uint32_t device : plan.devices) text += (text.empty() ? "" : ", ") + std::to_string(device);
  return text.empty() ? "all" : text;
}

constexpr std::string_view kLevelNames[] = {"all", "models", "single_operators"};

std::string acl_directory(const DumpPlan& plan, const std::string& root) {
  if (plan.debug == DebugMode::exception) return root + "/extra-info/data-dump/DEVICE/";
  return root + (plan.level == Level::single_operators ? "/TIME/DEVICE/" : "/TIME/DEVICE/MODEL/ID/INDEX/");
}

// The directory of one step and the name of a tensor file in it; capitals stand for what the run decides.
std::string step_directory(const DumpPlan& plan) {
  std::string root = plan.root == "/" ? "" : plan.root.string();
  switch (plan.scheme) {
    case SchemeKind::rank_tree:
      return root + "/rank_R/" + plan.net_name + "/GRAPH/STEP/";
    case SchemeKind::model_tree:
      return root + "/STEP/TIME/DEVICE/MODEL/ID/STEP/";
    case SchemeKind::time_tree:
      return root + "/TIME/DEVICE/MODEL/ID/STEP/";
    case SchemeKind::acl_tree:
      return acl_directory(plan, root);
  }
  return root;
}

// Of MindSpore's trees, with what they say of a tensor.
std::string npy_file(const DumpPlan& plan, std::string_view op, std::string_view slot) {
  const bool is_rank_tree = plan.scheme == SchemeKind::rank_tree;
  return std::string(op)
      .append(is_rank_tree ? ".0" : ".TASK")
      .append(".STREAM.MICROSECONDS.")
      .append(slot)
      .append(plan.default_format && is_rank_tree ? ".DefaultFormat" : ".FORMAT")
      .append(plan.class_name_dtypes ? ".Float32.npy" : ".float32.npy");
}

std::string tensor_file(const DumpPlan& plan) {
  if (plan.scheme == SchemeKind::acl_tree && plan.debug == DebugMode::exception)
    return "exception_info.TASK.STREAM.MICROSECONDS";
  if (plan.file_format == FileFormat::bin) return "OPTYPE.OPNAME.TASK.STREAM.MICROSECONDS";
  return npy_file(plan, "OPTYPE.OPNAME",
                  plan.sides == Sides::inputs    ? "input.INDEX"
                  : plan.sides == Sides::outputs ? "output.INDEX"
                                                 : "input|output.INDEX");
}

void add_files(Lines& lines, const DumpPlan& plan) {
  const std::string directory = step_directory(plan);
  std::string_view what = "writes";
  if (writes_tensors(plan)) {
    lines.add(std::exchange(what, ""), directory + tensor_file(plan));
    if (plan.parameters) lines.add(what, directory + npy_file(plan, "Parameter.NAME", "output.0"));
  }
  if (!writes_statistics(plan)) return;
  if (plan.fingerprints) {
    lines.add(what, (plan.root == "/" ? "" : plan.root.string()) + "/rank_R/fingerprints.bin");
    return;
  }
  const bool one_each = plan.scheme == SchemeKind::acl_tree;
  lines.add(what, directory + (one_each ? tensor_file(plan) + ".csv" : "statistic.csv"));
}

std::string describe_rule(const ModelRule& rule) {
  std::string text = rule.model.empty() ? "of any model: " : "of model " + rule.model + ": ";
  if (rule.lists_operators) {
    for (std::size_t i = 0; i < rule.operators.size() && i < kRulesShown; ++i)
      text += (i == 0 ? "" : ", ") + rule.operators[i];
    if (rule.operators.size() > kRulesShown)
      text += " and " + std::to_string(rule.operators.size() - kRulesShown) + " more";
  } else if (rule.ranges.empty()) {
    text += "all";
  }
  for (const OperatorRange& range : rule.ranges)
    text.append(text.ends_with(": ") ? "" : ", ").append(range.first).append(" to ").append(range.last);
  if (!rule.watched.empty()) {
    text += "; watched after each: ";
    for (std::size_t i = 0; i < rule.watched.size() && i < kRulesShown; ++i)
      text += (i == 0 ? "" : ", ") + rule.watched[i];
  }
  const std::size_t excluded = rule.by_type.size() + rule.by_name.size();
  return excluded == 0 ? text : text + "; " + std::to_string(excluded) + " blacklisted";
}

void add_models(Lines& lines, const DumpPlan& plan) {
  const ModelSelector& models = plan.models;
  std::string_view what = "operators";
  const auto rules = models.selects_models() ? models.rules() : std::span<const ModelRule>();
  if (models.selects_models() && rules.empty()) lines.add(std::exchange(what, ""), "of any model: all");
  for (const ModelRule& rule : rules.first(std::min(rules.size(), kRulesShown)))
    lines.add(std::exchange(what, ""), describe_rule(rule));
  if (models.selects_single_operators()) lines.add(what, "of no model: all");
}

nlohmann::ordered_json exclusions_json(const std::vector<Exclusion>& exclusions) {
  auto list = nlohmann::ordered_json::array();
  for (const Exclusion& exclusion : exclusions) {
    auto slots = nlohmann::ordered_json::array();
    for (const SlotPosition slot : exclusion.slots)
      slots.push_back(std::string(model::kSideNames[static_cast<std::size_t>(slot.side)]) +
                      std::to_string(slot.index));
    list.push_back({{"name", exclusion.name}, {"pos", slots}});
  }
  return list;
}

nlohmann::ordered_json models_json(const DumpPlan& plan) {
  auto list = nlohmann::ordered_json::array();
  for (const ModelRule& rule : plan.models.rules()) {
    auto item = nlohmann::ordered_json::object();
    item["model_name"] = rule.model;
    if (rule.lists_operators) item["layer"] = rule.operators;
    auto& ranges = item["opname_range"] = nlohmann::ordered_json::array();
    for (const OperatorRange& range : rule.ranges)
      ranges.push_back({{"begin", range.first}, {"end", range.last}});
    item["optype_blacklist"] = exclusions_json(rule.by_type);
    item["opname_blacklist"] = exclusions_json(rule.by_name);
    item["watcher_nodes"] = rule.watched;
    list.push_back(std::move(item));
  }
  return list;
}

nlohmann::ordered_json rules_json(const DumpPlan& plan) {
  auto rules = nlohmann::ordered_json::array();
  for (const auto& rule : plan.operators.rules())
    rules.push_back({{"kind", name_of(kRuleNames, rule.kind)}, {"text", rule.text}});
  for (const auto& filter : plan.operators.filters())
    rules.push_back({{"kind", name_of(kFilterNames, filter.kind)}, {"text", filter.text}});
  return rules;
}

}  // namespace

std::string describe(const DumpPlan& plan) {
  Lines lines;
  lines.add("config", plan.config_path.string() + " (" + plan.dialect + ")");
  if (plan.is_empty) {
    lines.add("saves", "nothing");
    return lines.take();
  }
  add_content(lines, plan);
  lines.add("steps",
            plan.steps.format() +
                (plan.initial_step == 0 ? "" : ", counted from " + std::to_string(plan.initial_step)));
  plan.scheme == SchemeKind::acl_tree ? add_models(lines, plan) : add_operators(lines, plan);
  lines.add("devices", join_devices(plan));
  add_budget(lines, plan);
  add_files(lines, plan);
  return lines.take();
}

std::string describe_json(const DumpPlan& plan) {
  nlohmann::ordered_json json;
  json["schema_version"] = 1;
  json["dialect"] = plan.dialect;
  json["config_path"] = plan.config_path.string();
  json["content"] = name_of(kContentNames, plan.content);
  if (plan.fingerprints) json["fingerprints"] = true;
  json["sides"] = name_of(kSideWords, plan.sides);
  json["steps"] = plan.steps.format();
  json["initial_step"] = plan.initial_step;
  json["is_empty"] = plan.is_empty;
  json["operators"] = rules_json(plan);
  json["models"] = models_json(plan);
  json["selects_models"] = plan.models.selects_models();
  json["selects_single_operators"] = plan.models.selects_single_operators();
  json["level"] = name_of(kLevelNames, plan.level);
  json["only_flagged_operators"] = plan.only_flagged_operators;
  json["devices"] = plan.devices;
  auto& statistics = json["statistics"] = nlohmann::ordered_json::array();
  for (const Statistic statistic : plan.statistics)
    statistics.push_back(statistic_table()[static_cast<std::size_t>(statistic)].name);
  if (plan.budget_bytes == kFreeSpace)
    json["budget"] = "free";
  else if (plan.budget_bytes == kFifthOfSpace)
    json["budget"] = "auto";
  else if (plan.budget_bytes)
    json["budget"] = *plan.budget_bytes;
  json["statistics_place"] = name_of(kPlaceNames, plan.statistics_processor);
  json["statistics_precision"] = name_of(kPrecisionNames, plan.statistics_precision);
  json["sample_count"] = plan.sample_count;
  json["debug"] = name_of(kDebugNames, plan.debug);
  json["overflow_limit"] = plan.overflow_limit;
  json["operator_arguments"] = plan.operator_arguments;
  json["default_format"] = plan.default_format;
  auto& formats = json["device_formats"] = nlohmann::ordered_json::array();
  for (const model::Format format : plan.device_formats) formats.push_back(model::format_name(format));
  json["parameters"] = plan.parameters;
  json["input_parameters"] = plan.parameters && plan.input_parameters;
  json["run_metadata"] = plan.run_metadata;
  json["class_name_dtypes"] = plan.class_name_dtypes;
  json["synchronous"] = plan.synchronous;
  json["layout"] = name_of(kSchemeNames, plan.scheme);
  json["file_format"] = name_of(kFormatNames, plan.file_format);
  json["root"] = plan.root.string();
  json["net_name"] = plan.net_name;
  json["warnings"] = plan.warnings;
  // Paths need not be UTF-8, and JSON must be.
  return json_text(json, 2) + "\n";
}

}  // namespace opdump::plan
