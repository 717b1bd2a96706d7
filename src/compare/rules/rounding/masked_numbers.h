// Numbers that stand for nothing: which ones a mask has does not matter.
#pragma once

#include "compare/rules/rule.h"

namespace opdump::compare {

extern const Rule kMaskedNumbers;

}  // namespace opdump::compare
