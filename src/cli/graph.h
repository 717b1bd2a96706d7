// `opdump graph ...`: graphs as CANN's graph engine writes them. One file for each word after it.
#pragma once

#include <span>

#include "base/result.h"

namespace opdump::cli {

Result<int> run_graph_convert(std::span<const char* const> args);
Result<int> run_graph_find(std::span<const char* const> args);

}  // namespace opdump::cli
