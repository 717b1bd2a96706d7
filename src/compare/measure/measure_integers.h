// A slot that has integers in a quantised model and floating point in the other run.
#pragma once

#include "compare/comparison.h"

namespace opdump::compare {

// Whether one side has integers and the other floating point.
bool mixes_integers(const SlotComparison& slot);

// Fills a slot that mixes_integers() as measure_slot() does: with what the integers stand for. A slot without
// a scale is skipped.
void measure_integers(SlotComparison& slot, const CompareOptions& options, unsigned threads);

}  // namespace opdump::compare
