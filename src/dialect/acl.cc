#include "dialect/acl.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/text.h"
#include "dialect/acl_compiler.h"

namespace opdump::dialect {
namespace {

constexpr std::size_t kMaxBytes = 10 << 20;
constexpr int kMaxDepth = 10;

struct Default {
  std::string_view key, value;
};
constexpr Default kDefaults[] = {{"dump_mode", "output"},
                                 {"dump_level", "all"},
                                 {"dump_data", "tensor"},
                                 {"dump_op_switch", "off"},
                                 {"dump_debug", "off"}};

struct StatisticWord {
  std::string_view word;
  plan::Statistic statistic;
};
// The words stand in the order of their columns. The last one is written only if it is asked for.
constexpr StatisticWord kStatistics[] = {{"Max", plan::Statistic::max},
                                         {"Min", plan::Statistic::min},
                                         {"Avg", plan::Statistic::avg},
                                         {"Nan", plan::Statistic::nan_count},
                                         {"Negative Inf", plan::Statistic::negative_inf_count},
                                         {"Positive Inf", plan::Statistic::positive_inf_count},
                                         {"L2norm", plan::Statistic::l2norm}};

// Deepest nesting of `open`, outside of strings.
int depth_of(std::string_view text, char open, char close) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_string && text[i] == '\\')
      ++i;
    else if (text[i] == '"')
      in_string = !in_string;
    else if (!in_string && text[i] == open)
      deepest = std::max(deepest, ++depth);
    else if (!in_string && text[i] == close)
      --depth;
  }
  return deepest;
}

Error refuse(std::string message, int number) {
  return Error(Code::config, std::move(message)).with_number(number);
}

// "f:1:2: not JSON: reason" with the code behind the place.
Error explain_syntax(std::string message) {
  constexpr std::string_view kMark = ": not JSON: ";
  if (const std::size_t mark = message.find(kMark); mark != std::string::npos)
    message.replace(mark, kMark.size(), ": EP0004: the file cannot be parsed: ");
  return refuse(std::move(message), kAclInvalidDumpConfig);
}

}  // namespace

bool recognises_acl(const nlohmann::json& root) { return root.is_object() && root.contains("dump"); }

Result<JsonDocument> parse_acl(std::string name, std::string text) {
  if (text.size() > kMaxBytes)
    return refuse(name + ": " + format_bytes(text.size()) + "; at most 10 MiB are allowed", kAclInvalidFile);
  for (const auto& [open, close] : {std::pair('{', '}'), std::pair('[', ']')})
    if (depth_of(text, open, close) > kMaxDepth)
      return refuse(name + ": more than 10 nested '" + open + "'; at most 10 are allowed", kAclParseFile);
  if (trim(text).empty()) text = "{}";
  auto document = JsonDocument::parse(std::move(name), std::move(text));
  if (!document) return explain_syntax(document.error().message());
  return document;
}

Result<plan::DumpPlan> compile_acl(const JsonDocument& document, const DialectOptions& options) {
  return AclCompiler(document, options).compile();
}

AclCompiler::AclCompiler(const JsonDocument& document, const DialectOptions& options)
    : document_(document), options_(options), dump_(document, "dump"), warnings_(document) {
  plan_.scheme = plan::SchemeKind::acl_tree;
  plan_.file_format = plan::FileFormat::bin;
  plan_.net_name = "graph";
  plan_.failure_number = kAclInternalError;
  plan_.synchronous = false;
}

Error AclCompiler::fail(std::string_view code, const std::string& pointer, const std::string& text) const {
  return document_.error(pointer, std::string(code) + ": " + text).with_number(kAclInvalidDumpConfig);
}

std::string AclCompiler::word(std::string_view key) const {
  const nlohmann::json* value = dump_.find(key);
  if (value) return value->get<std::string>();
  const auto* known = std::ranges::find(kDefaults, key, &Default::key);
  return std::string(known == std::end(kDefaults) ? "" : known->value);
}

bool AclCompiler::is_exception() const {
  const std::string scene = word("dump_scene");
  return !scene.empty() && scene != "watcher";
}

// The documentation has NPU_COLLECT_PATH, the original's program has not.
bool AclCompiler::environment_asks_for_exceptions() const {
  const auto scene = find_variable(options_, "ASCEND_DUMP_SCENE");
  return (scene && scene->starts_with("aic_err_")) ||
         (!options_.strict && find_variable(options_, "NPU_COLLECT_PATH"));
}

bool AclCompiler::asks_for_something() const {
  const nlohmann::json* list = dump_.find("dump_list");
  const bool lists = list && (!list->empty() || !options_.strict);
  return lists || is_on("dump_op_switch") || is_on("dump_debug") || !word("dump_scene").empty();
}

void AclCompiler::note_disregarded(std::string_view key, std::string_view why) {
  if (dump_.find(key))
    warnings_.add_at_key(dump_.pointer(key), std::string(key) + " has no effect: " + std::string(why));
}

Result<plan::DumpPlan> AclCompiler::compile() {
  warn_unknown_keys();
  const nlohmann::json& root = document_.root();
  const bool has_dump = root.is_object() && root.contains("dump");
  plan_.is_empty = !has_dump || (root["dump"].is_object() && root["dump"].empty());
  if (!plan_.is_empty && !root["dump"].is_object())
    return fail("EP0001", "/dump",
                "the content of the item dump is invalid: it is " + describe_value(root["dump"]) +
                    ", and should be an object");
  if (!plan_.is_empty) {
    OPDUMP_CHECK_OK(check_types());
    OPDUMP_CHECK_OK(check_words());
    OPDUMP_CHECK_OK(check_exclusions());
    plan_.is_empty = !asks_for_something();
    if (!is_exception()) {
      OPDUMP_CHECK_OK(read_path());
      if (is_on("dump_debug") && is_on("dump_op_switch")) return conflict("dump_debug", "dump_op_switch");
      if (!is_on("dump_debug")) {
        OPDUMP_CHECK_OK(read_steps());
        OPDUMP_CHECK_OK(read_list());
        OPDUMP_CHECK_OK(check_stats());
      }
    }
  }
  if (is_exception() || (plan_.is_empty && environment_asks_for_exceptions())) settle_exception();
  read_content();
  if (is_on("dump_debug")) settle_overflow();
  if (plan_.debug == plan::DebugMode::none) settle_selection();
  OPDUMP_CHECK_OK(read_device_formats());
  plan_.warnings = warnings_.take();
  return std::move(plan_);
}

void AclCompiler::read_content() {
  if (plan_.debug == plan::DebugMode::exception) return;
  const std::string mode = word("dump_mode");
  plan_.sides = mode == "input" ? plan::Sides::inputs
                : mode == "all" ? plan::Sides::both
                                : plan::Sides::outputs;
  if (word("dump_data") != "stats") return;
  plan_.content = plan::Content::statistics;
  plan_.statistics = {plan::Statistic::count};
  const nlohmann::json* chosen = dump_.find("dump_stats");
  for (const auto& [name, statistic] : kStatistics) {
    const bool wanted = chosen ? std::ranges::find(*chosen, nlohmann::json(name)) != chosen->end()
                               : statistic != plan::Statistic::l2norm;
    if (wanted) plan_.statistics.push_back(statistic);
  }
}

void AclCompiler::settle_exception() {
  plan_.is_empty = false;
  plan_.debug = plan::DebugMode::exception;
  plan_.sides = plan::Sides::inputs;
  read_exception_root();
  if (word("dump_scene") == "aic_err_detail_dump")
    warnings_.add(dump_.pointer("dump_scene"),
                  "there is no AI core memory to save; the operator's inputs are");
  for (const std::string_view key : {"dump_mode", "dump_list", "dump_step", "dump_data"})
    note_disregarded(key, "the inputs of every operator that fails are saved");
}

void AclCompiler::settle_overflow() {
  plan_.debug = plan::DebugMode::overflow;
  if (dump_.find("dump_mode") && plan_.sides != plan::Sides::both)
    note_disregarded("dump_mode", "inputs and outputs of an overflowing operator are saved");
  plan_.sides = plan::Sides::both;
  for (const std::string_view key : {"dump_list", "dump_step"})
    note_disregarded(key, "every overflowing operator is saved");
  if (find_variable(options_, "OPDUMP_OVERFLOW_RECORD") == "new")
    plan_.overflow_record = plan::OverflowRecord::new_devices;
}

// Which operators of models, and whether those that a program executes one by one (cann.md 1.2, 1.5).
void AclCompiler::settle_selection() {
  const nlohmann::json* list = dump_.find("dump_list");
  const bool has_list = list && !list->empty(), switched = is_on("dump_op_switch");
  const std::string level = word("dump_level");
  plan_.level = level == "op"       ? plan::Level::models
                : level == "kernel" ? plan::Level::single_operators
                                    : plan::Level::all;
  if (switched && !has_list) plan_.models.select_all_models();
  const bool names_models =
      has_list && std::ranges::all_of(*list, [](const auto& item) { return item.contains("model_name"); });
  plan_.models.set_single_operators(level != "op" && !is_watcher() &&
                                    (switched || !names_models || level == "kernel"));
  if (level == "kernel" || !(has_list || switched)) plan_.models.select_no_models();
  if (is_watcher() && !has_list)
    warnings_.add(dump_.pointer("dump_scene"),
                  "nothing is watched: there is no dump_list with watcher_nodes");
}

Result<> AclCompiler::read_device_formats() {
  const auto text = find_variable(options_, "OPDUMP_DEVICE_FORMAT");
  for (const std::string_view name : text ? split(*text, ',') : std::vector<std::string_view>()) {
    const auto format = model::find_format(trim(name));
    if (!format)
      return Error(Code::config, "OPDUMP_DEVICE_FORMAT is \"" + *text +
                                     "\"; expected formats such as NC1HWC0 or FRACTAL_NZ, with commas");
    plan_.device_formats.push_back(*format);
  }
  return ok();
}

}  // namespace opdump::dialect
