#include "capture/recording_rules.h"

#include <algorithm>

#include "math/stats/stats.h"

namespace opdump::capture {
namespace {

// Up to this size computing the statistics of a tensor is faster than finding known ones.
constexpr std::uint64_t kTinyBytes = 8 * 1024;

JobNeeds needs_of(const plan::DumpPlan& plan) {
  JobNeeds needs;
  needs.file = plan.content != plan::Content::statistics;
  if (plan.content == plan::Content::tensor) return needs;
  for (const plan::Statistic statistic : plan.statistics) {
    switch (statistic) {
      case plan::Statistic::max:
      case plan::Statistic::min:
        needs.statistics.extremes = true;
        break;
      case plan::Statistic::avg:
        needs.statistics.sum = true;
        break;
      case plan::Statistic::l2norm:
        needs.statistics.squares = true;
        break;
      case plan::Statistic::md5:
        needs.md5 = true;
        break;
      case plan::Statistic::sha1:
        needs.sha1 = true;
        break;
      case plan::Statistic::xxh128:
        needs.xxh128 = true;
        break;
      case plan::Statistic::nan_count:
      case plan::Statistic::negative_inf_count:
      case plan::Statistic::positive_inf_count:
        needs.statistics.special_counts = true;
        break;
      case plan::Statistic::zero_count:
        needs.statistics.zero_count = true;
        break;
      default:
        needs.statistics.counts = true;
    }
  }
  return needs;
}

}  // namespace

RecordingRules::RecordingRules(const plan::DumpPlan& plan, const dump::SchemeWriter& scheme)
    : needs(needs_of(plan)),
      order_matters(needs.file || needs.md5 || needs.sha1 || needs.xxh128),
      lists_all_tensors(scheme.lists_all_tensors()),
      writes_calls(scheme.writes_calls()) {
  if (!order_matters) inline_bytes = kTinyBytes;
  holds = plan.debug != plan::DebugMode::none || writes_calls;
  writes_rows = plan.content != plan::Content::tensor && !writes_calls;
  takes_statistics = plan.statistics_processor == plan::Processor::device &&
                     plan.content == plan::Content::statistics && !holds && !lists_all_tensors &&
                     plan.sample_count == 0 &&
                     std::ranges::all_of(plan.statistics, [](plan::Statistic statistic) {
                       return plan::statistic_table()[static_cast<std::size_t>(statistic)].on_device;
                     });
}

std::string_view RecordingRules::reason_not_to_dump(const Operand& operand) const {
  if (!operand.undumped.empty()) return operand.undumped;
  if (operand.view.element_count() == 0) return "empty";
  const model::DTypeInfo& dtype = model::dtype_info(operand.view.dtype);
  if (dtype.bits == 0 || (dtype.kind == model::DTypeKind::floating && dtype.bits == 8))
    return "dtype cannot be stored";
  if (!needs.file && !math::has_statistics(dtype.dtype) && !lists_all_tensors)
    return "dtype has no statistics";
  if (operand.view.data == nullptr && !operand.statistics) return "no data";
  return {};
}

}  // namespace opdump::capture
