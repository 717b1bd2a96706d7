// Failing operators that do not reach the dispatch key, for plans that save the inputs of failing operators.
// Composite operators (reshape, linalg.inv) check their arguments themselves, and indexing checks them before
// any operator runs. RecordFunction observes the former, the Python package the latter.
#pragma once

namespace opdump::torch_adapter {

// Whether RecordFunction is asked for operators that fail; process-wide.
void watch_failures(bool on);

}  // namespace opdump::torch_adapter
