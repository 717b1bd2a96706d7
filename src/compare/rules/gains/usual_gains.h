// The gains of runs without a fault that opdump knows (python/opdump/blame_limits.json).
#pragma once

#include "compare/rules/gains/gains.h"

namespace opdump::compare {

const GainTable& usual_gains();

}  // namespace opdump::compare
