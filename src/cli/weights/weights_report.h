// The answer of `opdump weights`, for people and for programs.
#pragma once

#include <string>

#include "cli/verb.h"
#include "weights/judge/compare_weights.h"

namespace opdump::cli {

struct WeightsStyle {
  bool all = false;  // equal ones are listed, too
};

// A line for each parameter that differs or is missing, and a summary.
std::string weights_text(const weights::WeightComparison& comparison, WeightsStyle style);

// One object with a line feed at its end. "schema_version" is 1 and increases with every change that could
// break a reader. Page: docs/weights.md.
std::string weights_json(const weights::WeightComparison& comparison, const weights::Checkpoint& golden,
                         const weights::Checkpoint& actual, WeightsStyle style);

Exit weights_exit(const weights::WeightComparison& comparison);

}  // namespace opdump::cli
