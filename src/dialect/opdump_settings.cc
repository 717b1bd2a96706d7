#include "dialect/opdump_settings.h"

#include <string>
#include <utility>

#include "base/text/text.h"
#include "dialect/json_section.h"

namespace opdump::dialect {
namespace {

constexpr std::string_view kBudgetForm = R"(should be a size such as "512M" or "20G", "free" or "auto")";

Result<> read_watch(const JsonSection& section, plan::DumpPlan& plan) {
  const auto* given = section.find("watch");
  if (given == nullptr) return ok();
  constexpr std::string_view kForm = "should be the number of steps to keep, 2 to 10000";
  if (!given->is_number_unsigned()) return section.wrong("watch", kForm);
  const auto steps = given->get<std::uint64_t>();
  if (steps < kFewestWatched || steps > kMostWatched) return section.wrong("watch", kForm);
  if (plan.content != plan::Content::statistics || plan.debug != plan::DebugMode::none ||
      plan.scheme != plan::SchemeKind::rank_tree)
    return section.wrong("watch", "is for saved_data \"statistic\", and not for op_debug_mode");
  plan.watch_steps = steps;
  return ok();
}

// What has files of its own, or is not kept for ever, has no place in the one file.
bool are_for_fingerprints(const plan::DumpPlan& plan) {
  return plan.content == plan::Content::statistics && plan.debug == plan::DebugMode::none &&
         plan.scheme == plan::SchemeKind::rank_tree && plan.statistics_processor == plan::Processor::host &&
         plan.statistics == plan::fingerprint_statistics() && plan.watch_steps == 0;
}

Result<> read_fingerprints(const JsonSection& section, plan::DumpPlan& plan) {
  constexpr std::string_view kKey = "fingerprints";
  const auto* given = section.find(kKey);
  if (given == nullptr) return ok();
  if (!given->is_boolean()) return section.wrong(kKey, "should be true or false");
  plan.fingerprints = given->get<bool>();
  if (plan.fingerprints && !are_for_fingerprints(plan))
    return section.wrong(
        kKey,
        R"(is for saved_data "statistic" on the host with the statistics max, min, avg, l2norm, nan count and hash:xxh128, and not for op_debug_mode or watch)");
  return ok();
}

}  // namespace

Result<std::uint64_t> parse_budget(std::string_view text) {
  if (text == "free") return plan::kFreeSpace;
  if (text == "auto") return plan::kFifthOfSpace;
  const auto bytes = parse_bytes(text);
  if (!bytes || *bytes == 0) return Error(Code::config, std::string(kBudgetForm));
  return *bytes;
}

Result<> read_opdump_settings(const JsonDocument& document, plan::DumpPlan& plan) {
  const JsonSection section(document, std::string(kOpdumpSettings));
  if (!section.present()) return ok();
  if (!section.is_object())
    return document.error("/" + std::string(kOpdumpSettings),
                          std::string(kOpdumpSettings) + " should be an object");
  for (const auto kind : {plan::FilterKind::ops, plan::FilterKind::module}) {
    const std::string_view key = kind == plan::FilterKind::ops ? "ops" : "module";
    if (section.find(key) == nullptr) continue;
    OPDUMP_TRY(std::string text, section.read_string(key, "a regular expression"));
    if (auto narrowed = plan.operators.narrow(kind, std::move(text)); !narrowed)
      return section.wrong(key, narrowed.error().message());
  }
  OPDUMP_CHECK_OK(read_watch(section, plan));
  OPDUMP_CHECK_OK(read_fingerprints(section, plan));
  if (section.find("budget") == nullptr) return ok();
  OPDUMP_TRY(const std::string text, section.read_string("budget", R"("20G", "free" or "auto")"));
  auto bytes = parse_budget(text);
  if (!bytes) return section.wrong("budget", bytes.error().message());
  plan.budget_bytes = *bytes;
  return ok();
}

}  // namespace opdump::dialect
