// A result for other viewers: the graph for Model Explorer, and the order of execution as a trace for
// Perfetto.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "result/database.h"

namespace opdump::result {

using WriteExport = std::function<Result<>(std::string_view text)>;

// Trace Event Format, which Perfetto and chrome://tracing open: a process for each rank, a thread for each
// phase, one microsecond for each operator in the order of execution, and the decimal logarithm of the error
// divided by the tolerance as a counter from -6 to 12. Errors: those of the database and of `write`.
Result<> export_trace(Database& database, const WriteExport& write);

// The graphs of `side` ("golden", "actual") as Model Explorer's graph collection: a graph for each rank and
// graph, "rank 0 graph 1". Errors: not_found -- the result has no graphs of that side.
Result<> export_graph(Database& database, std::string_view side, const WriteExport& write);

// The worst error of each operator over the steps divided by the tolerance, for the nodes of export_graph():
// Model Explorer's node data. Of one dump the largest L2 norm.
Result<> export_node_data(Database& database, std::string_view side, const WriteExport& write);

}  // namespace opdump::result
