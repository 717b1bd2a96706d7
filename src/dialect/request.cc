#include "dialect/request.h"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text/text.h"
#include "dialect/mindspore_text.h"
#include "dialect/opdump_settings.h"
#include "plan/op_selector.h"

namespace opdump::dialect {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kCommon = "common_dump_settings";

Error wrong(std::string_view option, std::string_view value, std::string_view reason) {
  return {Code::config, std::string(option) + " is " + quote(value) + "; " + std::string(reason)};
}

// The folder as the value of `path`, where '$' begins a variable.
Result<std::string> path_value(const std::string& output) {
  if (output.empty()) return wrong("output", output, "should be the folder to record into");
  std::error_code failure;
  const std::filesystem::path absolute = std::filesystem::absolute(output, failure);
  if (failure) return wrong("output", output, "there is no current directory: " + failure.message());
  std::string value;
  for (const char c : absolute.native()) value.append(c == '$' ? 2 : 1, c);
  if (auto path = parse_path(value, DialectOptions()); !path)
    return wrong("output", output, path.error().message());
  return value;
}

Result<std::string> iteration_value(const std::string& steps) {
  std::string value = steps.empty() ? "0" : steps;
  std::ranges::replace(value, ',', '|');
  std::vector<std::string> never_matching;
  const auto parsed = parse_iteration(value, false, never_matching);
  if (!parsed) return wrong("steps", steps, "should be steps and ranges such as 0,10-20, or all");
  return parsed->format();
}

Result<> check_filter(plan::FilterKind kind, std::string_view option, const std::string& text) {
  if (text.empty()) return ok();
  if (auto narrowed = plan::OpSelector().narrow(kind, text); !narrowed)
    return narrowed.take_error().within(option);
  return ok();
}

// Errors: config -- a text of it is not UTF-8.
Result<std::string> to_text(const Json& json) {
  try {
    return json.dump(2) + "\n";
  } catch (const std::exception&) {
    return Error(Code::config, "output, ops or module is not UTF-8, which a configuration must be");
  }
}

}  // namespace

Result<std::string> make_config(const Request& request) {
  Json common, own;
  common["dump_mode"] = 0;
  OPDUMP_TRY(common["path"], path_value(request.output));
  common["net_name"] = "model";
  OPDUMP_TRY(common["iteration"], iteration_value(request.steps));
  const bool statistics = request.statistics || request.fingerprints || request.watch > 0;
  const bool tensors = request.tensors || !statistics;
  common["saved_data"] = !statistics ? "tensor" : tensors ? "full" : "statistic";
  if (statistics) common["statistic_category"] = {"max", "min", "avg", "l2norm", "nan count"};
  if (request.fingerprints) common["statistic_category"].push_back("hash:xxh128");
  if (request.watch > 0)
    for (const char* count : {"negative inf count", "positive inf count", "zero count"})
      common["statistic_category"].push_back(count);
  OPDUMP_CHECK_OK(check_filter(plan::FilterKind::ops, "ops", request.ops));
  OPDUMP_CHECK_OK(check_filter(plan::FilterKind::module, "module", request.module));
  if (!request.ops.empty()) own["ops"] = request.ops;
  if (!request.module.empty()) own["module"] = request.module;
  if (request.fingerprints && !tensors) own["fingerprints"] = true;
  own["budget"] = request.budget.empty() ? "auto" : request.budget;
  if (request.watch > 0)
    own = Json{{"watch", request.watch}};  // the disk has room for a few steps' statistics
  if (request.watch == 0)
    if (auto budget = parse_budget(own["budget"].get_ref<const std::string&>()); !budget)
      return wrong("budget", request.budget, budget.error().message());
  Json config;
  config[std::string(kCommon)] = std::move(common);
  config["e2e_dump_settings"]["enable"] = true;
  config[std::string(kOpdumpSettings)] = std::move(own);
  return to_text(config);
}

Result<std::string> replace_output(std::string_view config_text, const std::string& output) {
  Json config = Json::parse(config_text, nullptr, false);
  const auto common = config.is_object() ? config.find(kCommon) : config.end();
  if (common == config.end() || !common->is_object())
    return Error(Code::config,
                 "output replaces the path of a data_dump.json, and this is another configuration");
  OPDUMP_TRY((*common)["path"], path_value(output));
  return to_text(config);
}

}  // namespace opdump::dialect
