// "opdump_settings": what opdump adds to the language of data_dump.json. MindSpore ignores the section.
//
//   ops           a regular expression: only operators of these types, or of this name (plan/op_selector.h)
//   module        a regular expression: only operators of these modules
//   budget        "20G": the most that is written; "free": as much as the disk has free (dump/write/budget.h)
//   fingerprints  true: a hash and statistics of each tensor, in one file (format/tables/fingerprints.h)
//   watch         10: keep the last 10 steps, until an operator makes a NaN or an infinity (opdump watch)
#pragma once

#include <array>
#include <string_view>

#include "base/result.h"
#include "base/text/json.h"
#include "plan/dump_plan.h"

namespace opdump::dialect {

inline constexpr std::string_view kOpdumpSettings = "opdump_settings";
inline constexpr std::array<std::string_view, 5> kOpdumpKeys{"ops", "module", "budget", "watch",
                                                             "fingerprints"};

// Adds what the section asks for. Errors: config.
Result<> read_opdump_settings(const JsonDocument& document, plan::DumpPlan& plan);

// The steps that a watching recording can keep. 1 would be removed before it has ended.
inline constexpr std::uint64_t kFewestWatched = 2, kMostWatched = 10'000;

// A budget: "20G", or "free". Errors: config, the reason alone.
Result<std::uint64_t> parse_budget(std::string_view text);

}  // namespace opdump::dialect
