// Differences that grow no more than usual, in dumps that lack what operators read.
#pragma once

#include "compare/rules/rule.h"

namespace opdump::compare {

extern const Rule kUsualGains, kSingleBeforeGrowth;

}  // namespace opdump::compare
