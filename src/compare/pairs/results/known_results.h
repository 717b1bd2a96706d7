// Which results of a program another one has, too.
#pragma once

#include "compare/pairs/results/result_graph.h"

namespace opdump::compare {

// Fills ResultNode::is_known and has_lost_state of both runs: by what is in the tensors; where shapes agree,
// by their elements; and by parts, where one program has in one tensor what the other one has in several, as
// the weights of queries, keys and values. An update adds little to weights, so that they are nearly what
// they were in both runs whatever it adds: is_doubtful is what the first updates of a line make otherwise.
void find_known_results(ResultGraph& golden, ResultGraph& actual, unsigned threads);

}  // namespace opdump::compare
