// `opdump graph VERB`: works on graphs of CANN's graph engine. One file for each verb.
#pragma once

#include <span>

#include "base/result.h"

namespace opdump::cli {

Result<int> run_graph_convert(std::span<const char* const> args);
Result<int> run_graph_find(std::span<const char* const> args);

}  // namespace opdump::cli
